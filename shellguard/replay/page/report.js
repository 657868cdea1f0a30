"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (name) => document.getElementById(name);
  const detail = byId("detail"), body = byId("detail-body"), search = byId("search"), said = byId("found");
  const lines = [...document.querySelectorAll(".line")];
  const cells = lines.map((line) => [...line.querySelectorAll(".c")]);
  let current = null;

  const words = { allow: "runs", warn: "runs, with a warning", block: "refused", halt: "refused, the turn ends" };

  function entry(list, name, value) {
    if (value === null || value === undefined || value === "") return;
    const term = document.createElement("dt"), text = document.createElement("dd");
    term.textContent = name;
    text.textContent = String(value);
    list.append(term, text);
  }

  function show(line, place) {
    const cell = data.sessions[line][place];
    const list = document.createElement("dl");
    entry(list, "call", cell.n + (cell.u === null ? "" : " (turn " + cell.u + ")"));
    entry(list, "tool", cell.o);
    entry(list, "sub-agent", cell.g);
    entry(list, "command", data.commands[cell.t]);
    entry(list, "verdict", cell.v);
    entry(list, "reason", cell.b);
    entry(list, "rule", cell.r);
    entry(list, "class", cell.c);
    entry(list, "guard", (words[cell.a] || cell.a) + (cell.d === "allow" ? "" : " (" + cell.d + ")"));
    entry(list, "exit code", cell.x);
    const same = data.sessions[line].map((other, at) => (other.k === cell.k ? at : -1)).filter((at) => at >= 0);
    entry(list, "the same call", same.length === 1 ? "only here" : same.length + " times here, this is number " + (same.indexOf(place) + 1));
    body.replaceChildren(list);
    detail.hidden = false;
    for (const marked of document.querySelectorAll(".c.same")) marked.classList.remove("same");
    if (same.length > 1) for (const at of same) cells[line][at].classList.add("same");
    current = [line, place, same];
    byId("previous").disabled = same.indexOf(place) <= 0;
    byId("next").disabled = same.indexOf(place) >= same.length - 1;
  }

  function focus(line, place) {
    for (const cell of cells[line]) cell.tabIndex = -1;
    const cell = cells[line][place];
    cell.tabIndex = 0;
    cell.focus();
  }

  function step(by) {
    const [line, place, same] = current;
    const at = same[same.indexOf(place) + by];
    if (at !== undefined) { show(line, at); cells[line][at].scrollIntoView({ block: "nearest" }); }
  }

  function close() {
    detail.hidden = true;
    for (const marked of document.querySelectorAll(".c.same")) marked.classList.remove("same");
    if (current) focus(current[0], current[1]);
  }

  lines.forEach((line, number) => {
    if (cells[number].length) cells[number][0].tabIndex = 0;
    line.addEventListener("click", (event) => {
      const place = cells[number].indexOf(event.target);
      if (place >= 0) { focus(number, place); show(number, place); }
    });
    line.addEventListener("keydown", (event) => {
      const place = cells[number].indexOf(event.target);
      const last = cells[number].length - 1;
      const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: last }[event.key];
      if (place < 0 || to === undefined || to < 0 || to > last) return;
      event.preventDefault();
      focus(number, to);
      if (!detail.hidden) show(number, to);
    });
  });

  byId("close").addEventListener("click", close);
  byId("previous").addEventListener("click", () => step(-1));
  byId("next").addEventListener("click", () => step(1));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !detail.hidden) close(); });

  function filter() {
    const text = search.value.trim().toLowerCase();
    const wanted = new Set([...document.querySelectorAll("[data-class]")].filter((box) => box.checked).map((box) => box.dataset.class));
    const hits = data.commands.map((command) => command.toLowerCase().includes(text));
    let calls = 0, sessions = 0;
    document.querySelectorAll("section.session").forEach((section, number) => {
      const named = section.dataset.name.toLowerCase().includes(text);
      let here = 0;
      data.sessions[number].forEach((cell, place) => {
        const fits = wanted.has(cell.c) && (named || hits[cell.t] || cell.o.toLowerCase().includes(text));
        cells[number][place].classList.toggle("dim", !fits);
        here += fits;
      });
      section.hidden = here === 0;
      calls += here;
      sessions += here > 0;
    });
    for (const row of document.querySelectorAll("tr[data-text]")) row.hidden = !row.textContent.toLowerCase().includes(text);
    said.textContent = calls + (calls === 1 ? " call in " : " calls in ") + sessions + (sessions === 1 ? " session shown" : " sessions shown");
  }

  search.addEventListener("input", filter);
  for (const box of document.querySelectorAll("[data-class]")) box.addEventListener("change", filter);
  byId("tools").hidden = false;

  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.dataset.copy);
        button.textContent = "copied";
      } catch {
        const range = document.createRange();
        range.selectNodeContents(button.parentElement.querySelector("code"));
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        button.textContent = "selected";
      }
    });
  }
})();
