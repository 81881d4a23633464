/** Shared by the tests of approvals by policy: one rule, verified people, and a call that waits for them. */
import type { Principal, Runtime } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import type { DirectIdentity, ProviderIdentity } from 'quittance/events';
import { createMemoryLedger } from 'quittance/ledger';
import type { ConfirmationView, PersonDecision } from 'quittance/runtime';
import type { OpenLedger } from 'quittance/store';
import type { ManualClock } from 'quittance/testing';
import { createManualClock } from 'quittance/testing';
import { expect } from 'vitest';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import { eventually } from '../eventually.ts';

/** A person that an identity provider verified. */
export const person = (
  name: string,
  groups: readonly string[] = [],
  roles: readonly string[] = [],
): ProviderIdentity => ({
  kind: 'provider',
  issuer: 'https://id.example',
  subject: name,
  method: 'oidc',
  ...(groups.length > 0 && { groups }),
  ...(roles.length > 0 && { roles }),
});

export const ruleset = (...rules: readonly string[]): string =>
  `apiVersion: quittance/v1\nkind: Ruleset\nmetadata: { name: approvals }\ndefaults: { mode: enforce }\nrules:\n${rules.join('')}`;

/** A rule about `pay` with this approval, in flow style. */
export const payRule = (
  approval: string,
  {
    id = 'big',
    timeout = 86_400,
    tool = 'pay',
  }: { readonly id?: string; readonly timeout?: number; readonly tool?: string } = {},
): string =>
  `  - { id: ${id}, type: pre, tool: ${tool}, then: { action: ask, message: Payment., timeout: ${timeout}, approval: ${approval} } }\n`;

export type QuorumStage = {
  readonly runtime: Runtime;
  readonly ledger: OpenLedger;
  readonly clock: ManualClock;
  readonly ran: unknown[];
  /** Makes a call and returns its question. */
  ask(
    id: string,
    principal?: string | Principal,
    args?: { readonly cents: number },
  ): Promise<ConfirmationView>;
  approve(
    question: ConfirmationView,
    identity: DirectIdentity | string,
    more?: object,
  ): Promise<ConfirmationView>;
  deny(question: ConfirmationView, identity: DirectIdentity | string): Promise<ConfirmationView>;
  /** Lets the call go on, and returns how it ended. */
  ended(id: string): Promise<string>;
};

type Options = {
  readonly ledger?: OpenLedger;
  readonly clock?: ManualClock;
  readonly options?: object;
};

export function quorumStage(
  rules: string,
  { clock = createManualClock(), ledger = createMemoryLedger({ clock }), options = {} }: Options = {},
): QuorumStage {
  const ran: unknown[] = [];
  const pay = defineTool({
    name: 'pay',
    mode: 'external',
    run: (args) => {
      ran.push(args);
      return 'paid';
    },
  });
  const contracts = contractsFromYamlString(rules);
  const runtime = createRuntime({ tools: [pay], ledger, clock, contracts, ...options }) as unknown as Runtime;
  const said = (identity: DirectIdentity | string) =>
    typeof identity === 'string'
      ? { by: identity }
      : { by: identity.kind === 'provider' ? identity.subject : 'someone', identity };
  return {
    runtime,
    ledger,
    clock,
    ran,
    async ask(id, principal = 'bob', args = { cents: 900 }) {
      const turn = runtime.turn({
        sessionId: 's',
        principal: typeof principal === 'string' ? { userId: principal } : principal,
      });
      turn.submit({ id, name: 'pay', arguments: args });
      return eventually(async () => {
        const { rows } = await runtime.confirmations.list({ status: 'pending' });
        const found = rows.find((row) => row.callId === id);
        if (found === undefined) throw new Error('not held yet');
        return found;
      });
    },
    async approve({ confirmationId, inputDigest }, identity, more = {}) {
      const decision = { decision: 'approve', ...said(identity), inputDigest, ...more } as PersonDecision;
      return runtime.confirmations.decide(confirmationId, decision);
    },
    deny: ({ confirmationId }, identity) =>
      runtime.confirmations.decide(confirmationId, { decision: 'deny', ...said(identity) }),
    ended: (id) =>
      eventually(async () => {
        const [call] = await runtime.calls.list({ sessionId: 's', callId: id });
        if (call?.settled === undefined) throw new Error(`call ${id} is ${String(call?.status)}`);
        return call.settled.outcome.type;
      }),
  };
}

/** `quittance verify` finds nothing wrong. */
export async function expectVerified(ledger: OpenLedger): Promise<void> {
  const findings: unknown[] = [];
  const startProgress = () => ({ step: () => undefined, done: () => undefined });
  const { signal } = new AbortController();
  await verifyLedger(ledger, undefined, { signal, startProgress }, async (found) => {
    findings.push(found);
  });
  expect(findings).toEqual([]);
}
