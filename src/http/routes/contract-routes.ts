import type { ContractsProblem } from '../../policy/language/contracts-problem.ts';
import type { LintWarning } from '../../policy/language/lint-warning.ts';
import type {
  CallToExplain,
  ContractsCheck,
  ContractsExplanation,
  ContractsInForce,
  ContractsReload,
  ContractsVersion,
  ContractsVersions,
  NewBacktest,
  RuleHit,
  RuleHits,
  RuleInForce,
  TypedDocuments,
} from '../api/contract.ts';
import type { Job } from '../api/job.ts';
import { principalShape } from '../call-shapes.ts';
import { jobShape } from '../job-shape.ts';
import { jsonText } from '../json-text.ts';
import {
  checkTyped,
  explainCall,
  readInForce,
  refuseUnloadable,
  reloadContracts,
} from '../read-contracts.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import type { Shape } from '../shape.ts';
import {
  anyJson,
  anyObject,
  choice,
  flag,
  integer,
  list,
  maybe,
  moment,
  object,
  open,
  text,
} from '../shape.ts';

const documentShape: Shape<ContractsVersion['documents'][number]> = object<
  ContractsVersion['documents'][number]
>({ name: text(), stamp: text(), text: maybe(text()) }, 'ContractDocument');

const typedShape: Shape<TypedDocuments['documents']> = list(
  object<TypedDocuments['documents'][number]>(
    { name: text({ minLength: 1, maxLength: 200 }), text: text({ maxLength: 500_000 }) },
    'TypedDocument',
  ),
  { minItems: 1, maxItems: 50 },
);

const ruleShape: Shape<RuleInForce> = object<RuleInForce>(
  {
    ruleId: text(),
    type: choice({ pre: true, post: true, session: true, sandbox: true, code: true }),
    mode: choice({ enforce: true, observe: true }),
    tool: maybe(text()),
    action: maybe(text()),
    message: maybe(text()),
    source: text(),
    line: maybe(integer()),
    tags: list(text()),
  },
  'RuleInForce',
);

const problemShape: Shape<ContractsProblem> = open('ContractsProblem', 'What is wrong, and where.', {
  source: text(),
  message: text(),
});
const warningShape: Shape<LintWarning> = open('LintWarning', 'Legal, and probably not meant.', {
  message: text(),
  advice: text(),
});

const checkFields = {
  ok: flag(),
  policyVersion: maybe(text()),
  problems: list(problemShape),
  warnings: list(warningShape),
} as const;

export const contractRoutes: readonly Route[] = [
  defineRoute<'/v1/contracts', object, undefined, ContractsInForce>({
    method: 'GET',
    path: '/v1/contracts',
    access: 'viewer',
    summary: 'Shows the rules in force.',
    answer: object<ContractsInForce>(
      {
        loaded: flag(),
        policyVersion: maybe(text()),
        documents: list(documentShape),
        rules: list(ruleShape),
        workflows: list(text()),
        report: maybe(
          open('CompositionReport', 'What was overridden, what is a candidate, what to know.', {}),
        ),
        canReload: flag(),
      },
      'ContractsInForce',
    ),
    handle: ({ service }) => Promise.resolve(readInForce(service)),
  }),
  defineRoute<'/v1/contracts/versions', object, undefined, ContractsVersions>({
    method: 'GET',
    path: '/v1/contracts/versions',
    access: 'viewer',
    summary: 'Lists which rules were in force, newest first.',
    answer: object<ContractsVersions>(
      {
        rows: list(
          object<ContractsVersion>(
            { policyVersion: text(), loadedAt: moment(), documents: list(documentShape) },
            'ContractsVersion',
          ),
        ),
      },
      'ContractsVersions',
    ),
    handle: ({ service, ...asked }) => service.reader.answer('versions', {}, asked, { isRemembered: true }),
  }),
  defineRoute<'/v1/contracts/hits', object, undefined, RuleHits>({
    method: 'GET',
    path: '/v1/contracts/hits',
    access: 'viewer',
    summary: 'Counts what rules said about the newest calls, and what observing ones would have.',
    answer: object<RuleHits>(
      {
        calls: integer(),
        since: maybe(moment()),
        rules: list(
          object<RuleHit>(
            {
              ruleId: text(),
              action: choice({ block: true, ask: true, warn: true, redact: true }),
              hits: integer(),
              observed: integer(),
              lastAt: moment(),
              lastCall: object<RuleHit['lastCall']>({ sessionId: text(), callId: text() }),
            },
            'RuleHit',
          ),
        ),
      },
      'RuleHits',
    ),
    handle: ({ service, ...asked }) => service.reader.answer('hits', {}, asked, { isRemembered: true }),
  }),
  defineRoute<'/v1/contracts/validate', object, TypedDocuments, ContractsCheck>({
    method: 'POST',
    path: '/v1/contracts/validate',
    access: 'viewer',
    summary: 'Checks documents. Problems are an answer, not an error.',
    body: object<TypedDocuments>({ documents: typedShape }, 'TypedDocuments'),
    answer: object<ContractsCheck>(checkFields, 'ContractsCheck'),
    handle: async ({ service, body, actor, signal }) =>
      jsonText(await checkTyped(service, body.documents, { caller: actor.name, signal })),
  }),
  defineRoute<'/v1/contracts/explain', object, CallToExplain, ContractsExplanation>({
    method: 'POST',
    path: '/v1/contracts/explain',
    access: 'operator',
    summary: 'Explains what the rules in force, or those given, would say about a call.',
    body: object<CallToExplain>(
      {
        toolName: text({ minLength: 1 }),
        documents: maybe(typedShape),
        arguments: maybe(anyObject()),
        principal: maybe(principalShape),
        metadata: maybe(anyObject()),
        output: maybe(anyJson()),
        sessionId: maybe(text()),
      },
      'CallToExplain',
    ),
    answer: open<ContractsExplanation>(
      'ContractsExplanation',
      'Every rule, what it looked at and what it found, secrets masked.',
      { policyVersion: text() },
    ),
    handle: async ({ service, body, actor, signal }) =>
      jsonText(await explainCall(service, body, { caller: actor.name, signal })),
  }),
  defineRoute<'/v1/contracts/backtest', object, NewBacktest, Job>({
    method: 'POST',
    path: '/v1/contracts/backtest',
    access: 'operator',
    summary: 'Starts a job: what these rules would have said about the calls of this ledger.',
    body: object<NewBacktest>(
      {
        documents: typedShape,
        sessionId: maybe(text()),
        toolName: maybe(text()),
        since: maybe(integer()),
        until: maybe(integer()),
      },
      'NewBacktest',
    ),
    answer: jobShape,
    status: 202,
    async handle({ service, body: { documents, ...slice }, actor, signal }) {
      service.jobs.refuseMore();
      // Documents that cannot be loaded are refused now, not by a job that fails.
      await refuseUnloadable(service, documents, { caller: actor.name, signal });
      return service.jobs.start({ kind: 'backtest', documents, slice }, actor.name);
    },
  }),
  defineRoute<'/v1/contracts/reload', object, undefined, ContractsReload>({
    method: 'POST',
    path: '/v1/contracts/reload',
    access: 'admin',
    summary: 'Reads the rules again. With a problem the old ones stay in force.',
    answer: object<ContractsReload>({ ...checkFields, changed: flag() }, 'ContractsReload'),
    handle: ({ service }) => reloadContracts(service),
  }),
];
