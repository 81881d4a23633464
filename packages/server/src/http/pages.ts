/**
 * The few pages of the server itself. Each has at most one script, which is a separate file. They contain no
 * data of the ledger.
 */
import { createTextMarks, createTextPatterns } from 'quittance/internal/base/text-marks';
import { createNameNotes } from 'quittance/internal/view/name-notes';

export const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="same-origin">
<title>${title}</title>
<link rel="stylesheet" href="/quittance-page.css">
</head>
<body><main><p class="brand">Quittance</p>
${body}</main></body>
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
.brand { display: flex; align-items: center; gap: 0.5rem; margin-block-end: 2rem; font-weight: 700; }
.brand::before { content: '✓'; content: '✓' / ''; display: grid; place-items: center; width: 1.5rem; height: 1.5rem; border-radius: 6px; background: var(--accent); color: var(--on-accent); }
h2 { font-size: 1.1rem; overflow-wrap: anywhere; }
h3 { margin-block-end: 0.25rem; font-size: 0.9rem; color: var(--muted); }
p { overflow-wrap: anywhere; }
a { color: var(--accent); }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { margin-block: 0.25rem 1rem; padding: 0.75rem 1rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); border-radius: 6px; background: var(--raised); }
label { display: block; font-weight: 600; margin-block: 1rem 0.25rem; }
input { font: inherit; width: 100%; box-sizing: border-box; padding: 0.5rem; border: 1px solid var(--line); border-radius: 6px; background: var(--surface); color: var(--text); }
button { font: inherit; font-weight: 600; padding: 0.5rem 1.25rem; margin: 1rem 0.5rem 0 0; border: 1px solid var(--accent); border-radius: 6px; background: var(--accent); color: var(--on-accent); cursor: pointer; }
a.button { display: inline-block; font-weight: 600; padding: 0.5rem 1.25rem; border: 1px solid var(--accent); border-radius: 6px; background: var(--accent); color: var(--on-accent); text-decoration: none; }
details { margin-block-start: 2rem; }
summary { cursor: pointer; color: var(--muted); }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.25rem 1rem; }
dt { color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; }
.code { font: 600 1.6rem/1.2 ui-monospace, monospace; letter-spacing: 0.1em; }
button.other { border-color: var(--bad); background: none; color: var(--bad); }
.refused { margin-block: 1rem; padding: 0.25rem 1rem; border-inline-start: 3px solid var(--bad); background: var(--raised); }
button:disabled { opacity: 0.55; cursor: not-allowed; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
[role='alert'] { color: var(--bad); }
.muted { color: var(--muted); }
.name, .text { padding: 0.0625rem 0.1875rem; border-radius: 3px; -webkit-box-decoration-break: clone; box-decoration-break: clone; }
.name { background: color-mix(in srgb, var(--muted) 12%, transparent); color: var(--muted); }
.text { background: color-mix(in srgb, var(--accent) 10%, transparent); }
.box { display: block; margin-inline-start: 1.5rem; padding: 0.25rem 0.5rem; border-inline-start: 3px solid var(--accent); }
.mark { padding: 0 0.125rem; border-radius: 3px; background: color-mix(in srgb, var(--bad) 14%, transparent); color: var(--bad); font-family: ui-monospace, monospace; unicode-bidi: isolate; }
pre strong { color: var(--bad); }
`;

/** `signIn`: the provider's name, and the link that begins. The token is then the second choice. */
export const loginPage = (
  problem: string | undefined,
  signIn?: { readonly providerName: string; readonly href: string },
): string =>
  page(
    'Log in to Quittance',
    `<h1>${signIn === undefined ? 'Log in' : 'Sign in'}</h1>
${problem === undefined ? '' : `<p role="alert">${problem}</p>`}
${
  signIn === undefined
    ? tokenForm('autofocus')
    : `<p><a class="button" href="${escapeHtml(signIn.href)}">Sign in with ${escapeHtml(signIn.providerName)}</a></p>
<details><summary>Use a token instead</summary>
${tokenForm('')}
</details>`
}`,
  );

const tokenForm = (focus: 'autofocus' | ''): string => `<form method="post" action="/login">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required ${focus}>
<button type="submit">Log in</button>
</form>
<p>The terminal that runs <code>quittance serve</code> shows a login link. To create your own token:</p>
<pre>quittance tokens create --name "Ada" --role approver</pre>`;

/** Asks for confirmation before a link logs in. The code has only letters, digits, dashes and underscores. */
export const confirmLoginPage = (name: string, code: string): string =>
  page(
    'Log in to Quittance',
    `<h1>Log in</h1>
<p>This link logs this browser in as <strong>${escapeHtml(name)}</strong>. It works once.</p>
<form method="post" action="/login">
<input type="hidden" name="code" value="${escapeHtml(code)}">
<button type="submit" autofocus>Log in as ${escapeHtml(name)}</button>
</form>`,
  );

export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

export const loggedInPage: string = page(
  'Logged in',
  `<h1>Logged in</h1>
<noscript><p>The console needs JavaScript.</p></noscript>
<script src="/quittance-login.js"></script>`,
);

/**
 * Stores the page key for this origin. `replace` leaves no entry with the key in the history of the tab. Anyone can write
 * a link to this page. So a key that does not belong to the cookie of this browser is not stored. The page leads to
 * pages of this origin only.
 */
export const loginScript: string = `'use strict';
(async () => {
  const given = new URLSearchParams(location.hash.slice(1));
  const key = given.get('page-key') ?? '';
  const isKey = async () => {
    if (!/^[\\w.-]+$/.test(key)) return false;
    try {
      return (await fetch('/v1/me', { headers: { 'x-quittance-page-key': key } })).status !== 401;
    } catch {
      return true;
    }
  };
  if (await isKey()) localStorage.setItem('quittance.page-key', key);
  const path = given.get('to') ?? '/';
  const to = URL.canParse(path, location.origin) ? new URL(path, location.origin) : undefined;
  // With the origin: a path may begin with two slashes, which would name another host.
  location.replace(to?.origin === location.origin ? to.origin + to.pathname + to.search : '/');
})();
`;

export const noConsolePage: string = page(
  'Quittance',
  `<h1>The console is not built</h1>
<p>The server is running. <a href="/openapi.json">openapi.json</a> describes its API. The package contains the console. In a checkout, build it with:</p>
<pre>npm run build</pre>`,
);

export const decidePage: string = page(
  'Decide about a call',
  `<h1>Decide about a call</h1>
<noscript><p>This page needs JavaScript, because browsers do not send the part of the address after the # to the server.</p></noscript>
<div id="question" aria-live="polite"><p>Loading…</p></div>
<script src="/quittance-decide.js" defer></script>`,
);

/** Inserts everything as text, never as markup, because tools and models wrote it. */
export const decideScript: string = `'use strict';
(() => {
  const place = document.getElementById('question');
  // After a sign-in the page is opened without the part after the #, so the tab keeps it meanwhile.
  const kept = 'quittance.decision-link';
  const token = location.hash.slice(1) || (sessionStorage.getItem(kept) ?? '');
  sessionStorage.removeItem(kept);
  // A signed-in person decides under their own name. Without the key of this origin the cookie does not
  // count.
  const pageKey = localStorage.getItem('quittance.page-key');
  history.replaceState(null, '', location.pathname);
  // Another link in the same tab changes only the part after the #.
  addEventListener('hashchange', () => location.reload());
  // The same marks as everywhere: this is the source of the functions that the program uses.
  const marks = (${String(createTextMarks)})((${String(createTextPatterns)})());
  const safe = (text) => marks.splitText(text).map((piece) => piece.text).join('');
  const noteNames = (${String(createNameNotes)})(safe);
  // Every piece is isolated, so that right-to-left text cannot move its neighbors.
  const draw = (parent, text) => {
    for (const piece of marks.splitText(text))
      if (piece.kind === 'plain') parent.append(piece.text);
      else {
        const node = document.createElement(piece.kind === 'escape' ? 'span' : 'bdi');
        if (piece.kind === 'escape') node.className = 'mark';
        node.textContent = piece.text;
        parent.append(node);
      }
    return parent;
  };
  const add = (name, text, parent = place) => {
    const node = document.createElement(name);
    node.dir = 'ltr';
    parent.append(draw(node, text));
    return node;
  };
  const clear = () => place.replaceChildren();
  const post = async (path, body) => {
    const answer = await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(pageKey === null ? {} : { 'x-quittance-page-key': pageKey }) },
      body: JSON.stringify(body),
    });
    const read = await answer.json();
    if (!answer.ok) throw new Error(read.detail ?? 'The request failed.');
    return read;
  };
  const fail = (error) => {
    clear();
    add('p', error.message).setAttribute('role', 'alert');
  };
  const nameOf = (by) => by.name + (by.identity === undefined || by.identity.kind === 'self_asserted' || (by.identity.holder && by.identity.holder.kind === 'typed') ? ' (self-asserted name)' : '');
  // Who has already said yes, and who is missing, if a rule needs several people.
  const tellVotes = ({ votes, fallen, missing }) => {
    for (const { decision, by } of votes) add('p', nameOf(by) + (decision === 'deny' ? ' denied it.' : decision === 'edit' ? ' edited and approved it.' : ' approved it.'));
    for (const { by, why } of fallen) add('p', 'The vote of ' + nameOf(by) + ' is void: ' + why + '.').className = 'muted';
    for (const each of missing) add('p', 'Still missing: ' + each.missing + ' of ' + each.who + '.').className = 'muted';
  };
  const tellEnd = (question) => {
    const { status, by } = question;
    clear();
    if (status === 'pending') {
      add('p', 'Your decision is recorded. The rules need more people.');
      return tellVotes(question);
    }
    add('p', 'This was ' + status + (by === undefined ? '' : ' by ' + nameOf(by)) + '.');
  };
  // The lines of a text. Longer runs of spaces inside a line are counted.
  const drawLines = (parent, text, longestRun) => {
    text.split(/\\r?\\n/).forEach((line, index) => {
      if (index > 0) parent.append('\\n');
      let at = 0;
      const spread = line.replaceAll('\\t', '  ');
      for (const match of spread.matchAll(new RegExp('(?<=\\\\S) {' + (longestRun + 1) + ',}| {61,}', 'g'))) {
        draw(parent, spread.slice(at, match.index));
        const count = document.createElement('span');
        count.className = 'mark';
        count.textContent = '[' + match[0].length + ' spaces]';
        parent.append(count);
        at = match.index + match[0].length;
      }
      draw(parent, spread.slice(at));
    });
    return parent;
  };
  const block = (name) => {
    const node = add('pre', '');
    // Scrollable content must be reachable by keyboard.
    node.tabIndex = 0;
    node.setAttribute('role', 'group');
    node.setAttribute('aria-label', name);
    return node;
  };
  // A name or a text in quotes, on its own background, so that a text that imitates lines of JSON stays
  // recognizable.
  const quoted = (parent, text, kind) => {
    const node = document.createElement('bdi');
    const json = JSON.stringify(text);
    const isBox = kind === 'text' && (json.length > 60 || text.includes('\\n'));
    node.dir = 'ltr';
    node.className = isBox ? 'text box' : kind;
    const broken = isBox ? json.replaceAll(/\\\\(.)/g, (written, letter) => (letter === 'n' ? '\\\\n\\n' : written)) : json;
    parent.append(drawLines(node, broken, isBox ? 3 : 1));
  };
  const drawJson = (parent, value, indent) => {
    if (typeof value === 'string') return quoted(parent, value, 'text');
    if (typeof value !== 'object' || value === null) return parent.append(JSON.stringify(value));
    const isList = Array.isArray(value);
    const entries = Object.entries(value);
    if (entries.length === 0) return parent.append(isList ? '[]' : '{}');
    const notes = isList ? new Map() : noteNames(Object.keys(value));
    const inside = indent.length < 48 ? indent + '  ' : indent;
    parent.append(isList ? '[' : '{');
    entries.forEach(([name, member], index) => {
      parent.append('\\n' + inside);
      if (!isList) {
        quoted(parent, name, 'name');
        parent.append(': ');
      }
      drawJson(parent, member, inside);
      if (index < entries.length - 1) parent.append(',');
      if (notes.has(name)) add('strong', ' ' + notes.get(name), parent);
    });
    parent.append('\\n' + indent + (isList ? ']' : '}'));
  };
  const drawPreview = (parent, preview) => {
    switch (preview.kind) {
      case 'text':
        return drawLines(parent, preview.text, 15);
      case 'diff':
        draw(parent, preview.path);
        parent.append('\\n');
        return drawLines(parent, preview.diff, 15);
      case 'command':
        drawLines(parent, '$ ' + preview.command, 15);
        if (preview.directory !== undefined) {
          parent.append('\\nin ');
          draw(parent, preview.directory);
        }
        return parent;
      default:
        preview.fields.forEach(({ name, before, after }, index) => {
          if (index > 0) parent.append('\\n');
          quoted(parent, name, 'name');
          for (const [sign, value] of [[': ', before], [' → ', after]]) {
            parent.append(sign);
            if (value === undefined) parent.append('nothing');
            else drawJson(parent, value, '');
          }
        });
        return parent;
    }
  };
  const show = (question) => {
    if (question.status !== 'pending') return tellEnd(question);
    clear();
    add('p', question.shown.description);
    add('h2', question.shown.toolName);
    if (question.risk.length > 0) add('p', question.risk.join(', ')).className = 'muted';
    if (question.asks.some((ask) => ask.approval !== undefined)) {
      add('h3', 'Approvals');
      tellVotes(question);
    }
    if (question.preview) {
      add('h3', 'Preview');
      drawPreview(block('Preview'), question.preview.preview);
    } else if (question.comparison) {
      const { callId, fields, more } = question.comparison;
      add('h3', 'Compared with the last call');
      add('p', 'This tool has no preview. The arguments are compared with those of call ' + callId + ' on the same resource.');
      if (fields.length === 0) add('p', 'No differences.');
      else drawPreview(block('Compared with the last call'), { kind: 'fields', fields });
      if (more > 0) add('p', 'And ' + more + ' more differences.');
    } else add('p', 'No preview: this tool has none, and there is no comparison with an earlier call on the same resource.').className = 'muted';
    add('h3', 'Arguments');
    drawJson(block('Arguments'), question.effectiveInput, '');
    for (const artifact of question.artifacts ?? []) {
      add('p', 'Artifact ' + artifact.artifactId + ': ' + artifact.sizeBytes + ' bytes, ' + artifact.mimeType + ', digest ' + artifact.digest);
      drawLines(block('Beginning of the artifact'), artifact.preview ?? '', 15);
    }
    if (question.expiresAt) {
      const until = new Date(question.expiresAt).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' });
      add('p', 'Expires ' + until + '. The call is then ' + (question.timeoutEffect === 'allow' ? 'allowed.' : 'denied.'));
    }
    const form = add('form', '');
    const field = (id, words) => {
      const label = add('label', words, form);
      label.htmlFor = id;
      const input = add('input', '', form);
      input.id = id;
      return input;
    };
    const who = question.signedInAs ?? question.named;
    const refused = new Map(Object.entries(question.refused));
    if (refused.size > 0) {
      const note = add('div', '', form);
      note.setAttribute('role', 'note');
      note.className = 'refused';
      for (const why of new Set(refused.values())) {
        const words = [...refused].filter(([, each]) => each === why).map(([decision]) => decision);
        const reason = why.charAt(0).toUpperCase() + why.slice(1) + (why.endsWith('.') ? '' : '.');
        add('p', 'You cannot ' + words.join(' or ') + ' now. ' + reason, note);
      }
      if (question.signedInAs === undefined && question.signInWith === undefined)
        add('p', 'Log in to the console of this server in this browser, then open this link again.', note);
    }
    if (question.signInWith !== undefined) {
      const link = add('a', 'Sign in with ' + question.signInWith, add('p', '', form));
      link.href = '/login/start?returnTo=/decide';
      link.className = 'button';
      link.addEventListener('click', () => sessionStorage.setItem(kept, token));
      add('p', 'The decision then counts as yours, verified by the identity provider.', form).className = 'muted';
    }
    const open = [...new Set(question.allowed)].filter((decision) => !refused.has(decision));
    if (open.length === 0) return;
    if (who !== undefined) add('p', 'You decide as ' + who + (question.signedInAs === undefined ? ', the person named in this link.' : ' (signed in).'), form);
    else add('p', 'The decision is recorded under your name and that of ' + question.madeBy + ', who made this link.', form);
    const by = who === undefined && question.madeBy !== undefined ? field('by', 'Your name (not verified)') : undefined;
    const reason = field('reason', 'Reason (optional)');
    for (const decision of open) {
      const button = add('button', decision === 'approve' ? 'Approve' : 'Deny', form);
      button.type = 'button';
      if (decision === 'deny') button.className = 'other';
      button.addEventListener('click', () => {
        for (const each of form.elements) each.disabled = true;
        const given = { token, decision };
        if (by !== undefined && by.value !== '') given.by = by.value;
        if (reason.value !== '') given.reason = reason.value;
        post('/v1/decisions', given).then(tellEnd, fail);
      });
    }
  };
  if (token === '') fail(new Error('The link is incomplete: the part after the # is missing.'));
  else post('/v1/decisions/read', { token }).then(show, fail);
})();
`;
