// Written by `shellguard install opencode`; `shellguard uninstall opencode` removes it.
import { spawnSync } from "node:child_process";

const ARGV = @ARGV@;

function ask(payload) {
  const done = spawnSync(ARGV[0], ARGV.slice(1), { input: JSON.stringify(payload), encoding: "utf8", timeout: 10000 });
  if (done.error || done.status !== 0) return { action: "deny", reason: "shellguard could not be started; see `shellguard doctor opencode`" };
  const text = (done.stdout || "").trim();
  try {
    return text ? JSON.parse(text) : {};
  } catch {
    return { action: "deny", reason: "shellguard gave an answer that cannot be read" };
  }
}

export const Shellguard = async ({ directory }) => ({
  "permission.ask": async (input, output) => {
    const command = input.metadata && input.metadata.command;
    if (input.type !== "bash" || typeof command !== "string") return;
    const said = ask({ event: "permission.ask", tool: "bash", session: input.sessionID, call: input.callID, cwd: directory, args: { command } });
    if (said.action === "allow" || said.action === "deny") output.status = said.action;
  },
  "tool.execute.before": async (input, output) => {
    if (input.tool !== "bash") return;
    const said = ask({ event: "tool.execute.before", tool: input.tool, session: input.sessionID, call: input.callID, cwd: directory, args: output.args });
    if (said.action === "deny") throw new Error(said.reason);
  },
  "tool.execute.after": async (input, output) => {
    if (input.tool !== "bash") return;
    const said = ask({ event: "tool.execute.after", tool: input.tool, session: input.sessionID, call: input.callID, cwd: directory, args: input.args, output: output.output });
    if (said.context) output.output = `${output.output}\n\n${said.context}`;
  },
});
