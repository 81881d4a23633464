/** The pages of sign-in. They contain no data of the ledger. */
import { escapeHtml, page } from '../pages.ts';
import type { Person } from 'quittance/internal/runtime/tokens';

const again = '<p><a class="button" href="/login">Sign in again</a></p>';

export const signedOutPage: string = page('Signed out', `<h1>You are signed out</h1>\n${again}`);

/** A sign-in that failed. `text` is ours; nothing of the provider's answer is shown. */
export const failedPage = (title: string, text: string): string =>
  page(
    title,
    `<h1>${escapeHtml(title)}</h1>
<p role="alert">${escapeHtml(text)}</p>
${again}`,
  );

export const noRightsPage = ({ name, issuer, subject, groups }: Person): string =>
  page(
    'No rights',
    `<h1>You have no rights here</h1>
<p role="alert">The identity provider knows you, but this server gives none of your groups a role. You are not signed in.</p>
<dl>
<dt>Name</dt><dd><bdi>${escapeHtml(name)}</bdi></dd>
<dt>Issuer</dt><dd>${escapeHtml(issuer)}</dd>
<dt>Subject</dt><dd><bdi>${escapeHtml(subject)}</bdi></dd>
<dt>Groups</dt><dd>${groups.length === 0 ? 'none' : groups.map((group) => `<bdi>${escapeHtml(group)}</bdi>`).join(', ')}</dd>
</dl>
<p>Ask the operator of this server to give one of your groups a role, or the administrator of the identity provider to add you to a group that has one.</p>
${again}`,
  );

/** Asks for the code that a command line shows. */
export const askCodePage = (problem: string | undefined): string =>
  page(
    'Sign in on the command line',
    `<h1>Sign in on the command line</h1>
${problem === undefined ? '' : `<p role="alert">${escapeHtml(problem)}</p>`}
<form method="get" action="/device">
<label for="user_code">The code that your terminal shows</label>
<input id="user_code" name="user_code" autocomplete="off" autocapitalize="characters" spellcheck="false" required autofocus>
<button type="submit">Continue</button>
</form>`,
  );

/** A link can skip the first page, so both pages say it. */
const ownTerminal =
  'Continue only if you started <code>quittance login</code> yourself and your terminal shows this code. Deny a code that another person sent you.';

export const startDevicePage = (userCode: string, from: string, providerName: string): string =>
  page(
    'Sign in on the command line',
    `<h1>Sign in on the command line</h1>
<p>A terminal asks to act as you. It calls its machine <strong><bdi>${escapeHtml(from)}</bdi></strong>. ${ownTerminal}</p>
<p class="code">${escapeHtml(userCode)}</p>
<p><a class="button" href="/login/start?device=${encodeURIComponent(userCode)}">Sign in with ${escapeHtml(providerName)}</a></p>`,
  );

export type ConfirmDevice = {
  readonly userCode: string;
  readonly from: string;
  readonly name: string;
  readonly confirm: string;
};

export const confirmDevicePage = ({ userCode, from, name, confirm }: ConfirmDevice): string =>
  page(
    'Allow the command line?',
    `<h1>Allow the command line?</h1>
<p>The terminal with this code will act as <strong><bdi>${escapeHtml(name)}</bdi></strong>. It calls its machine <strong><bdi>${escapeHtml(from)}</bdi></strong>. Decisions made there are recorded as yours.</p>
<p>${ownTerminal}</p>
<p class="code">${escapeHtml(userCode)}</p>
<form method="post" action="/device">
<input type="hidden" name="user_code" value="${escapeHtml(userCode)}">
<input type="hidden" name="confirm" value="${escapeHtml(confirm)}">
<button type="submit" name="decision" value="allow">Allow</button>
<button type="submit" name="decision" value="deny" class="other">Deny</button>
</form>`,
  );

export const deviceDonePage = (isAllowed: boolean): string =>
  page(
    isAllowed ? 'Signed in' : 'Denied',
    isAllowed
      ? '<h1>The command line is signed in</h1>\n<p>You can close this page and return to your terminal.</p>'
      : '<h1>Denied</h1>\n<p>The command line is not signed in. If you did not start it, tell the operator of this server.</p>',
  );
