// The last script of an exported HTML file. It shows the film that the file contains.

import { SentenceFilm } from "./sentence_film.js";

const content = JSON.parse(document.querySelector("#content")?.textContent ?? "");
document.title = content.title;
document.querySelector("h1")?.append(content.title);
const film = new SentenceFilm(document.body);
// A file has no server to send the state to, and no page to return to after the film is closed.
film.server = { setStateValue() {}, setTriggerValue() {} };
film.end.hidden = true;
film.show(content);
