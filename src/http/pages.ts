/** The few pages the server itself has. No scripts but one, which comes from a file of its own; nothing that was kept is in them. */
import { unseen } from '../base/safe-text.ts';

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="same-origin">
<title>${title}</title>
<link rel="stylesheet" href="/quittance-page.css">
</head>
<body><main>${body}</main></body>
</html>
`;

export const pageStyle = `:root {
  color-scheme: light dark;
  font: 16px/1.5 system-ui, sans-serif;
  --surface: light-dark(#ffffff, #16181d);
  --raised: light-dark(#f6f7f9, #1e2128);
  --line: light-dark(#8b93a1, #6b7383);
  --text: light-dark(#1a1d23, #e8eaee);
  --muted: light-dark(#596171, #a2aab8);
  --accent: light-dark(#3454d1, #8ea6ff);
  --on-accent: light-dark(#ffffff, #10131a);
  --bad: light-dark(#b3261e, #ff8f85);
}
body { margin: 0; display: grid; grid-template-columns: minmax(0, 36rem); place-content: start center; min-height: 100vh; padding: 10vh 1rem; box-sizing: border-box; background: var(--surface); color: var(--text); }
h1 { font-size: 1.4rem; }
h2 { font-size: 1.1rem; overflow-wrap: anywhere; }
h3 { margin-block-end: 0.25rem; font-size: 0.9rem; color: var(--muted); }
p { overflow-wrap: anywhere; }
a { color: var(--accent); }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { margin-block: 0.25rem 1rem; padding: 0.75rem 1rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); border-radius: 6px; background: var(--raised); }
label { display: block; font-weight: 600; margin-block: 1rem 0.25rem; }
input { font: inherit; width: 100%; box-sizing: border-box; padding: 0.5rem; border: 1px solid var(--line); border-radius: 6px; background: var(--surface); color: var(--text); }
button { font: inherit; font-weight: 600; padding: 0.5rem 1.25rem; margin: 1rem 0.5rem 0 0; border: 1px solid var(--accent); border-radius: 6px; background: var(--accent); color: var(--on-accent); cursor: pointer; }
button.other { border-color: var(--bad); background: none; color: var(--bad); }
button:disabled { opacity: 0.55; cursor: not-allowed; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
[role='alert'] { color: var(--bad); }
.muted { color: var(--muted); }
`;

export const loginPage = (problem: string | undefined): string =>
  page(
    'Log in to Quittance',
    `<h1>Log in</h1>
${problem === undefined ? '' : `<p role="alert">${problem}</p>`}
<form method="post" action="/login">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button type="submit">Log in</button>
</form>
<p>The terminal that runs <code>quittance serve</code> shows a link to log in with. A token of your own is made with:</p>
<pre>quittance tokens create --name "Ada" --role approver</pre>`,
  );

export const loggedInPage: string = page(
  'Logged in',
  `<h1>Logged in</h1>
<noscript><p>The console needs JavaScript.</p></noscript>
<script src="/quittance-login.js"></script>`,
);

/** Stores the page key for this origin. `replace` leaves no entry with the key in the history of the tab. */
export const loginScript: string = `'use strict';
(() => {
  const key = /^#page-key=([\\w-]+)$/.exec(location.hash);
  if (key !== null) localStorage.setItem('quittance.page-key', key[1]);
  location.replace('/');
})();
`;

export const noConsolePage: string = page(
  'Quittance',
  `<h1>The console is not built</h1>
<p>The server runs, and its API is there: <a href="/openapi.json">openapi.json</a>. The console is a part of the package; in a checkout it is built with:</p>
<pre>npm run build</pre>`,
);

export const decidePage: string = page(
  'Decide about a call',
  `<h1>Decide about a call</h1>
<noscript><p>This page needs JavaScript: what it is about stands behind the # of its address, which no server sees.</p></noscript>
<div id="question" aria-live="polite"><p>Reading…</p></div>
<script src="/quittance-decide.js" defer></script>`,
);

/** Everything is put in as text, never as markup: tools and models wrote it. */
export const decideScript: string = `'use strict';
(() => {
  const place = document.getElementById('question');
  const token = location.hash.slice(1);
  history.replaceState(null, '', location.pathname);
  // Another link in the same tab changes nothing but what stands behind the #.
  addEventListener('hashchange', () => location.reload());
  // Nobody decides about something that looks like something else.
  const unseen = new RegExp(${JSON.stringify(unseen.source)}, 'gu');
  const safe = (text) =>
    text.replace(unseen, (found) => (found === '\\n' || found === '\\t' ? found : '\\\\u{' + found.codePointAt(0).toString(16) + '}'));
  const add = (name, text, parent = place) => {
    const node = document.createElement(name);
    node.textContent = safe(text);
    parent.append(node);
    return node;
  };
  const clear = () => place.replaceChildren();
  const post = async (path, body) => {
    const answer = await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const read = await answer.json();
    if (!answer.ok) throw new Error(read.detail ?? 'That did not work.');
    return read;
  };
  const fail = (error) => {
    clear();
    add('p', error.message).setAttribute('role', 'alert');
  };
  const tellEnd = ({ status, by }) => {
    clear();
    add('p', 'This was ' + status + (by === undefined ? '' : ' by ' + by.name) + '.');
  };
  const block = (name, text) => {
    const node = add('pre', text);
    // What scrolls is reached by keyboard.
    node.tabIndex = 0;
    node.setAttribute('role', 'group');
    node.setAttribute('aria-label', name);
  };
  const json = (value) => (value === undefined ? 'nothing' : JSON.stringify(value));
  const toText = (preview) =>
    preview.kind === 'text'
      ? preview.text
      : preview.kind === 'diff'
        ? preview.path + '\\n' + preview.diff
        : preview.kind === 'command'
          ? '$ ' + preview.command + (preview.directory === undefined ? '' : '\\nin ' + preview.directory)
          : preview.fields
              .map(({ name, before, after }) => name + ': ' + json(before) + ' → ' + json(after))
              .join('\\n');
  const show = (question) => {
    if (question.status !== 'pending') return tellEnd(question);
    clear();
    add('p', question.description);
    add('h2', question.toolName);
    if (question.risk.length > 0) add('p', question.risk.join(', ')).className = 'muted';
    if (question.preview) {
      add('h3', 'What it would do');
      block('What it would do', toText(question.preview.preview));
    }
    add('h3', 'Arguments');
    block('Arguments', JSON.stringify(question.effectiveInput, null, 2));
    for (const artifact of question.artifacts ?? []) {
      add('p', 'Artifact ' + artifact.artifactId + ': ' + artifact.sizeBytes + ' bytes, ' + artifact.mimeType + ', digest ' + artifact.digest);
      block('Beginning of the artifact', artifact.preview);
    }
    if (question.expiresAt) {
      const until = new Date(question.expiresAt).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' });
      add('p', 'Until ' + until + ', then it is ' + (question.timeoutEffect === 'allow' ? 'allowed.' : 'denied.'));
    }
    const form = add('form', '');
    const field = (id, words) => {
      const label = add('label', words, form);
      label.htmlFor = id;
      const input = add('input', '', form);
      input.id = id;
      return input;
    };
    const by = field('by', 'Your name, where the link does not say it');
    const reason = field('reason', 'Why (optional)');
    for (const decision of new Set(question.allowed)) {
      const button = add('button', decision === 'approve' ? 'Approve' : 'Deny', form);
      button.type = 'button';
      if (decision === 'deny') button.className = 'other';
      button.addEventListener('click', () => {
        for (const each of form.elements) each.disabled = true;
        const given = { token, decision };
        if (by.value !== '') given.by = by.value;
        if (reason.value !== '') given.reason = reason.value;
        post('/v1/decisions', given).then(tellEnd, fail);
      });
    }
  };
  if (token === '') fail(new Error('The link is not complete: what it is about stands behind the #.'));
  else post('/v1/decisions/read', { token }).then(show, fail);
})();
`;
