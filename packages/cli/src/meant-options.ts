/**
 * Accepts ids in their displayed form. An id that looks like a secret is displayed as `[REDACTED]~1a2b3c`, and that
 * form can be typed.
 */
import type { SessionQuery, SessionSummary } from 'quittance/internal/ledger/call-query';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { readPages } from 'quittance/internal/ledger/call-query';
import type { Given } from './command.ts';
import { toolsInLedger } from './ledger-calls.ts';
import { exitCodes } from './exit-code.ts';
import { fromSafeText, isShownAs } from './terminal-text.ts';
import { UsageError } from './usage-error.ts';
import { readHeads, findSessions } from 'quittance/internal/ledger/reads';

const shownForm = /~[0-9a-f]{6}$/;

/** The options with exact ids. Reads nothing if no option has the displayed form. */
export async function readMeantOptions(
  ledger: OpenLedger,
  given: Given,
  signal: AbortSignal,
): Promise<Given> {
  const sessions = new Map<string, string>();
  for (const typed of [...given.list('session'), given.text('session')])
    if (typed !== undefined && shownForm.test(typed))
      sessions.set(typed, await meantSession(ledger, typed, signal));
  const tool = given.text('tool');
  const meantByTool = tool === undefined ? undefined : await meantTool(ledger, tool, signal);
  if (sessions.size === 0 && meantByTool === tool) return given;
  const meant = (option: string, typed: string): string =>
    option === 'session' ? (sessions.get(typed) ?? typed) : typed;
  return {
    args: given.args,
    has: (option) => given.has(option),
    count: (option) => given.count(option),
    list: (option) => given.list(option).map((typed) => meant(option, typed)),
    text: (option) => {
      const typed = given.text(option);
      if (option === 'tool') return meantByTool;
      return typed === undefined ? undefined : meant(option, typed);
    },
  };
}

/** The exact id of a session in displayed form; the typed text if no session matches. */
export async function meantSession(ledger: OpenLedger, typed: string, signal: AbortSignal): Promise<string> {
  if ((await readHeads(ledger, typed)).length > 0) return typed;
  const plain = fromSafeText(typed);
  if (plain !== typed && (await readHeads(ledger, plain)).length > 0) return plain;
  if (!shownForm.test(typed)) return typed;
  const found = new Set<string>();
  const ask = (query: SessionQuery): ReturnType<typeof findSessions> => findSessions(ledger, query);
  for await (const { rows } of readPages<SessionSummary, SessionQuery>(
    ask,
    {},
    Number.POSITIVE_INFINITY,
    signal,
  ))
    for (const { sessionId } of rows) if (isShownAs(sessionId, typed)) found.add(sessionId);
  return onlyOne(found, typed, 'sessions', 'quittance sessions --json');
}

/** The same for a call of a session. */
export async function meantCall(ledger: OpenLedger, sessionId: string, typed: string): Promise<string> {
  if (!shownForm.test(typed)) return typed;
  const events = await ledger.readSession(sessionId);
  const ids = new Set(events.flatMap((event) => ('callId' in event ? [event.callId] : [])));
  if (ids.has(typed)) return typed;
  const found = new Set([...ids].filter((id) => isShownAs(id, typed)));
  return onlyOne(found, typed, 'calls', 'quittance calls --json');
}

/** The same for the name of a tool. */
export async function meantTool(ledger: OpenLedger, typed: string, signal: AbortSignal): Promise<string> {
  if (!shownForm.test(typed)) return typed;
  const names = await toolsInLedger(ledger, signal);
  if (names.includes(typed)) return typed;
  const found = new Set(names.filter((name) => isShownAs(name, typed)));
  return onlyOne(found, typed, 'tools', 'quittance calls --json');
}

function onlyOne(found: ReadonlySet<string>, typed: string, what: string, list: string): string {
  const [first, ...others] = found;
  if (others.length > 0)
    throw new UsageError(
      `${found.size} ${what} are displayed as ${JSON.stringify(typed)}. Give the exact name.`,
      [list],
      exitCodes.bad,
    );
  return first ?? typed;
}
