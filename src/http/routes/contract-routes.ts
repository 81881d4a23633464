import { jsonText } from '../json-text.ts';
import {
  checkTyped,
  explainContractCall,
  readContractsInForce,
  refuseUnloadable,
  reloadContracts,
} from '../read-contracts.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';

export const contractRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/contracts',
    access: 'viewer',
    summary: 'Shows the rules in force.',
    answer: 'ContractsInForce',
    handle: ({ service }) => Promise.resolve(readContractsInForce(service)),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/contracts/versions',
    access: 'viewer',
    summary: 'Lists the versions of the rules, newest first.',
    answer: 'ContractsVersions',
    handle: ({ service, ...asked }) => service.reader.answer('versions', {}, asked, { isRemembered: true }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/contracts/hits',
    access: 'viewer',
    summary: 'Counts the newest calls that each rule matched, enforced or observed.',
    query: 'RuleHitsQuery',
    answer: 'RuleHits',
    handle: ({ service, query, ...asked }) =>
      service.reader.answer('hits', query, asked, { isRemembered: true }),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/contracts/validate',
    access: 'viewer',
    summary: 'Checks documents. Problems are an answer, not an error.',
    body: 'TypedDocuments',
    answer: 'ContractsCheck',
    handle: async ({ service, body, actor, signal }) =>
      jsonText(await checkTyped(service, body.documents, { caller: actor.name, signal })),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/contracts/explain',
    access: 'operator',
    summary: 'Explains what the rules in force, or the given rules, decide about a call.',
    body: 'CallToExplain',
    answer: 'ContractsExplanation',
    handle: async ({ service, body, actor, signal }) =>
      jsonText(await explainContractCall(service, body, { caller: actor.name, signal })),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/contracts/backtest',
    access: 'operator',
    summary: 'Starts a job that applies the given rules to the calls of this ledger.',
    body: 'NewBacktest',
    answer: 'Job',
    status: 202,
    async handle({ service, body: { documents, ...slice }, actor, signal }) {
      service.jobs.refuseMore();
      // Refuse documents that cannot be loaded now, not with a job that fails.
      await refuseUnloadable(service, documents, { caller: actor.name, signal });
      return service.jobs.start({ kind: 'backtest', documents, slice }, actor.name);
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/contracts/reload',
    access: 'admin',
    summary: 'Reloads the rules. If there are problems, the old rules stay in force.',
    answer: 'ContractsReload',
    handle: ({ service }) => reloadContracts(service),
  }),
];
