// The end of the file of all three kinds: shows what it holds.

const kept = JSON.parse(document.getElementById("kept").textContent);
document.title = `${kept.texts.source} → ${kept.texts.target}`;
document.querySelector("h1").textContent = document.title;
for (const { title, data } of kept.kinds) {
  const section = element("section", {}, element("h2", {}, title));
  document.body.append(section);
  attentionBrowser({
    data: Uint8Array.from(atob(data), (character) => character.charCodeAt(0)), choice: kept.choice,
    parentElement: section, setStateValue() {}, setTriggerValue() {},
  });
}
