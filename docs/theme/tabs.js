// Makes tabs of each `<div class="tabs">`. A label is a heading, or a paragraph of bold text, so that the page can be
// read without this script.
(() => {
  const KEY = "hookbox-tab";

  const isLabel = (node) =>
    /^H[2-6]$/.test(node.tagName) ||
    (node.tagName === "P" &&
      node.childElementCount === 1 &&
      node.firstElementChild.tagName === "STRONG" &&
      node.textContent === node.firstElementChild.textContent);

  // A browser may refuse to store anything.
  const remembered = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  };
  const remember = (name) => {
    try {
      localStorage.setItem(KEY, name);
    } catch {
      // The choice then lasts until the next page.
    }
  };

  const groups = [];

  const build = (group, index) => {
    const list = document.createElement("div");
    list.className = "tab-list";
    list.setAttribute("role", "tablist");
    const tabs = [];
    for (const node of [...group.children]) {
      if (isLabel(node)) {
        const panel = document.createElement("div");
        const name = node.textContent.trim();
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = name;
        button.id = `tab-${index}-${tabs.length}`;
        button.setAttribute("role", "tab");
        panel.className = "tab-panel";
        panel.id = `panel-${index}-${tabs.length}`;
        panel.setAttribute("role", "tabpanel");
        panel.setAttribute("aria-labelledby", button.id);
        button.setAttribute("aria-controls", panel.id);
        node.classList.add("tab-label");
        group.insertBefore(panel, node);
        list.append(button);
        tabs.push({ name, button, panel });
      }
      tabs.at(-1)?.panel.append(node);
    }
    if (tabs.length === 0) return;
    group.prepend(list);
    group.classList.add("tabs-ready");
    groups.push(tabs);
    tabs.forEach(({ name, button }, at) => {
      button.addEventListener("click", () => {
        remember(name);
        select(name);
      });
      button.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (step === undefined) return;
        // mdBook turns the page with these keys.
        event.preventDefault();
        event.stopPropagation();
        const next = tabs[(at + step + tabs.length) % tabs.length];
        next.button.click();
        next.button.focus();
      });
    });
    show(tabs, tabs[0].name);
  };

  const show = (tabs, name) => {
    for (const { name: other, button, panel } of tabs) {
      const isShown = other === name;
      panel.hidden = !isShown;
      button.setAttribute("aria-selected", String(isShown));
      button.tabIndex = isShown ? 0 : -1;
    }
  };

  const select = (name) => {
    for (const tabs of groups) {
      if (tabs.some((tab) => tab.name === name)) show(tabs, name);
    }
  };

  // A link to a heading in a hidden panel shows it.
  const follow = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const panel = target && target.closest(".tab-panel");
    if (!panel) return;
    const tabs = groups.find((it) => it.some((tab) => tab.panel === panel));
    show(tabs, tabs.find((tab) => tab.panel === panel).name);
    panel.parentElement.scrollIntoView();
  };

  document.querySelectorAll("div.tabs").forEach(build);
  const name = remembered();
  if (name !== null) select(name);
  follow();
  window.addEventListener("hashchange", follow);
})();
