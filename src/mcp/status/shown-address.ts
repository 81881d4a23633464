/** The address and the errors of a server for people, without secrets. */
import { cutText } from '../../base/cut-text.ts';
import { isJsonObject } from '../../base/json.ts';
import { createKnownSecrets } from '../../base/known-secrets.ts';
import { createRedactor } from '../../base/redaction.ts';
import type { ServerEntry } from '../config/server-entry.ts';

const longestAddress = 500;
const longestError = 600;
/** Shorter values of variables and headers, such as "true", are not secrets. */
const shortestSecret = 6;
/** Some services put a secret in the path of their URL. */
const opaqueStep = /^(?=.*\d)[\w~+=.-]{16,}$/;

/** The command line or the URL. */
export const shownAddress = (entry: ServerEntry): string =>
  cutText(
    hideOwnValues(entry, entry.type === 'stdio' ? commandLine(entry) : shownUrl(entry.url)),
    longestAddress,
  );

/** What a server or its connection reported. It may repeat a header, a variable or the URL. */
export const shownError = (entry: ServerEntry, text: string): string =>
  cutText(createRedactor().text(hideOwnValues(entry, text)), longestError);

function commandLine({
  command,
  args,
}: {
  readonly command: string;
  readonly args: readonly string[];
}): string {
  const { value } = createRedactor().input({ command, args: [...args] });
  const shown = isJsonObject(value) && Array.isArray(value['args']) ? value['args'] : [];
  return [command, ...shown].map((word) => shellWord(String(word))).join(' ');
}

function shownUrl({ origin, pathname, search }: URL): string {
  const steps = pathname.split('/').map((step) => (opaqueStep.test(step) ? '…' : step));
  return `${origin}${steps.join('/')}${search === '' ? '' : '?…'}`;
}

function hideOwnValues(entry: ServerEntry, text: string): string {
  return createKnownSecrets(
    entry.type === 'stdio' ? Object.values(entry.env) : urlSecrets(entry),
    shortestSecret,
  ).text(text);
}

const urlSecrets = ({ url, headers }: Extract<ServerEntry, { url: URL }>): readonly string[] => [
  ...Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]),
  ...url.searchParams.values(),
  ...url.pathname.split('/').filter((step) => opaqueStep.test(step)),
  url.username,
  url.password,
];

const shellWord = (word: string): string => (/^[^\s"'\\]+$/.test(word) ? word : JSON.stringify(word));
