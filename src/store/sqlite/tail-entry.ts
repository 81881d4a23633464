import { fromSqlText } from './sql-text.ts';

/** An entry as stored in the index. */
export type IndexedEntry = {
  readonly position: number;
  readonly session: number;
  readonly sequence: number;
  readonly call: string | null;
  readonly version: number | null;
  readonly hash: string;
};

/** An entry that is not in the index yet. */
export type TailEntry = IndexedEntry & { readonly text: string };

/** The columns next to a text are not hashed: the tail must be indexed by what the text says. */
export function saysWhereItStands(
  { text, call, version }: Pick<TailEntry, 'text' | 'call' | 'version'>,
  sessionId: string,
): boolean {
  try {
    const callId = call === null ? null : fromSqlText(call);
    const stands = `,"session":${JSON.stringify(sessionId)},"call":${JSON.stringify(callId)},"version":`;
    const at = text.indexOf(',"session":');
    // An entry without a call has no version, whatever its text expects.
    if (callId === null) return version === null && text.startsWith(stands, at);
    const expected = version === null ? '"any"' : String(version - 1);
    return text.startsWith(`${stands}${expected},"owner":`, at);
  } catch {
    return false; // not a text, or not a name that was written
  }
}
