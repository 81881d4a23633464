import { createReadStream } from 'node:fs';
import { isQuittanceError } from 'quittance/internal/base/error';
import type { Anchor } from 'quittance/internal/ledger/anchor';
import type { Head } from 'quittance/internal/ledger/chain';
import { readExport } from 'quittance/internal/ledger/ledger-export';
import { createVerifier } from 'quittance/internal/ledger/verify';
import { isDamage } from 'quittance/internal/replay/damage';
import type { VerifyFinding, Tell, Verdict } from 'quittance/internal/replay/verify-ledger';
import { countEntries } from 'quittance/internal/replay/verify-ledger';
import type { Context } from './command.ts';

/** Verifies an export from its file alone. */
export async function verifyExport(
  path: string,
  anchor: Anchor | undefined,
  { signal, startProgress }: Context,
  tell: Tell,
): Promise<Verdict> {
  let problems = 0;
  let verifier = createVerifier();
  let heads: readonly Head[] = [];
  let at = 0;
  let progress = startProgress('verify', 0);
  const say = async (found: readonly VerifyFinding[]): Promise<void> => {
    for (const problem of found) {
      problems++;
      await tell(problem);
    }
  };
  try {
    const { manifest, entries } = await readExport(readLines(path));
    ({ heads, createdAt: at } = manifest);
    verifier = createVerifier({ anchor: anchor && ofSessions(anchor, heads), heads });
    progress = startProgress('verify', countEntries(heads));
    for await (const { position, ...entry } of entries) {
      if (signal.aborted) break;
      // An export has lines instead of positions: the first one is the manifest.
      for (const { position: _, ...problem } of verifier.add({ position, ...entry }))
        await say([{ ...problem, line: position + 1 }]);
      progress.step();
    }
    if (!signal.aborted) await say(verifier.end());
  } catch (error) {
    if (!isDamage(error)) throw error;
    const line = isQuittanceError(error, 'ledger.damaged') ? Number(error.facts.line) : Number.NaN;
    await say([{ kind: 'file', message: error.message, line: Number.isNaN(line) ? undefined : line }]);
  }
  progress.done();
  return {
    totals: verifier.totals,
    due: countEntries(heads),
    problems,
    finished: !signal.aborted,
    heads,
    at,
  };
}

/** An export may contain only some sessions. It proves nothing about the others. */
const ofSessions = (anchor: Anchor, heads: readonly Head[]): Anchor => {
  const known = new Set(heads.map(({ sessionId }) => sessionId));
  return { ...anchor, heads: anchor.heads.filter(({ sessionId }) => known.has(sessionId)) };
};

/** Lines end only at line feeds. Bytes that are not valid UTF-8 are rejected. */
async function* readLines(path: string): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let rest = '';
  for await (const bytes of createReadStream(path) as AsyncIterable<Buffer>) {
    const [first = '', ...others] = decoder.decode(bytes, { stream: true }).split('\n');
    // The first line may be very long, so earlier text is not scanned again.
    const lines = [rest + first, ...others];
    rest = lines.pop() ?? '';
    yield* lines;
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}
