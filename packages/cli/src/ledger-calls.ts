/** Calls of a ledger, as contracts judge them: by their stored form, because the ledger shows no other. */
import type { JsonObject } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';
import type { Call } from 'quittance/internal/call/call';
import type { CallToJudge } from 'quittance/internal/contracts/loaded-contracts';
import type { CallQuery, CallSummary } from 'quittance/internal/ledger/call-query';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { ToolEnd } from 'quittance/internal/policy/judge/compile-policy';
import { foldStored } from 'quittance/internal/ledger/fold-stored';
import { readPages } from 'quittance/internal/ledger/call-query';
import { findCalls } from 'quittance/internal/ledger/reads';

export type LedgerCall = {
  readonly sessionId: string;
  readonly callId: string;
  readonly call: CallToJudge & { readonly input: JsonObject };
  readonly end: ToolEnd | undefined;
  /** Some arguments are redacted in the ledger, so rules see masks. */
  readonly hidden: boolean;
};

/** Every tool that was ever requested. */
export async function toolsInLedger(ledger: OpenLedger, signal: AbortSignal): Promise<readonly string[]> {
  const names = new Set<string>();
  for await (const { rows } of readCalls(ledger, {}, Number.POSITIVE_INFINITY, signal))
    for (const { toolName } of rows) names.add(toolName);
  return [...names].toSorted();
}

/**
 * The requested number of calls, newest first. Calls whose arguments are not an object cannot be judged and are
 * skipped.
 */
export async function* callsInLedger(
  ledger: OpenLedger,
  query: CallQuery,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<LedgerCall, void, undefined> {
  for await (const { rows } of readCalls(ledger, query, limit, signal))
    for (const { sessionId, callId } of rows) {
      const found = await readLedgerCall(ledger, sessionId, callId);
      if (found !== undefined) yield found;
    }
}

const readCalls = (
  ledger: OpenLedger,
  query: CallQuery,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<{ readonly rows: readonly CallSummary[] }> =>
  readPages<CallSummary, CallQuery>((page) => findCalls(ledger, page), query, limit, signal);

export async function readLedgerCall(
  ledger: OpenLedger,
  sessionId: string,
  callId: string,
): Promise<LedgerCall | undefined> {
  const stored = await ledger.readCall(sessionId, callId);
  const call = stored && foldStored(stored);
  const input = call && (call.effectiveInput ?? call.requestedInput);
  if (call === undefined || !isJsonObject(input)) return undefined;
  const { toolName, principal, attrs } = call;
  return {
    sessionId,
    callId,
    call: {
      toolName,
      input,
      ...(principal !== undefined && { principal }),
      ...(attrs !== undefined && { metadata: attrs }),
    },
    end: endOf(call),
    hidden: call.hidden.length > 0,
  };
}

/** The output of the tool, if it ran and the output is not an artifact. */
function endOf({ settled, attempt }: Call): ToolEnd | undefined {
  const outcome = settled?.outcome;
  if (outcome === undefined || attempt === 0) return undefined;
  switch (outcome.type) {
    case 'ToolExecutionResult':
      return { type: 'result', value: outcome.output };
    case 'ToolFailure':
      return { type: 'error', text: outcome.error };
    case 'ToolTimeout':
    case 'ToolDenied':
    case 'ToolArtifactReference':
      return undefined;
  }
}
