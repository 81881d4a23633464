/** The source files that are mutated, by the part of the product whose promises they keep. */
import { globSync } from 'node:fs';
import { sep } from 'node:path';

const areas = {
  decide: ['src/call/decide.ts'],
  refuse: ['src/call/refuse.ts'],
  evolve: ['src/call/evolve.ts'],
  execute: [
    'src/runtime/execute/*.ts',
    'src/runtime/attempt/attempt.ts',
    'src/runtime/settle/lost-runs.ts',
    'src/runtime/state/call-journal.ts',
    'src/runtime/host/budget.ts',
  ],
  settle: [
    'src/runtime/settle/{settle,settle-pending,unavailable}.ts',
    'src/runtime/attempt/{late,recorded-end}.ts',
  ],
  recover: [
    'src/runtime/recovery/{recover,reconcile}.ts',
    'src/runtime/take-over/*.ts',
    'src/runtime/state/orphan-deadline.ts',
  ],
  hold: [
    'src/runtime/hold/{hold,await-hold-signal,keep-decision}.ts',
    'src/runtime/settle/expiry.ts',
    'src/runtime/people/decide-confirmation.ts',
    'src/runtime/accept/take-approved.ts',
    'src/runtime/grants/{answer-by-grant,grants}.ts',
    'src/call/grant.ts',
  ],
  gates: ['src/runtime/gates/*.ts', 'src/runtime/state/gate.ts'],
  writer: ['src/store/sqlite/{writer,appender,order-job}.ts'],
  heads: ['src/store/sqlite/{heads,head-pages,sqlite-owners,owner-lock}.ts'],
  chain: ['src/ledger/{chain,verify,call-track,chain-ends}.ts'],
  spill: ['src/store/files/{spill-file,spill-lines}.ts', 'src/runtime/state/spill.ts'],
  ruling: ['src/policy/language/{ruling,session-limits}.ts', 'src/policy/judge/{judge-call,fire-rule}.ts'],
  'hand-off': [
    'src/call/handoff.ts',
    'src/runtime/handoff/{claim-handoff,report-handoff,handoff-due,handoff-report,handoff-token,await-report}.ts',
  ],
  'http auth': [
    'src/http/{access,actor,token-file,rate-limit}.ts',
    'src/runtime/host/{rights,token-content,token-principals}.ts',
  ],
} satisfies Readonly<Record<string, readonly string[]>>;

export type Target = { readonly area: string; readonly path: string };

/** Every file that is mutated. Throws if a pattern matches nothing, because its file was moved or renamed. */
export function findTargets(root: string): Target[] {
  return Object.entries(areas).flatMap(([area, patterns]) =>
    patterns.flatMap((pattern) =>
      expand(pattern).flatMap((single) => {
        const found = globSync(single, { cwd: root })
          .map((path) => path.split(sep).join('/'))
          .filter((path) => !/\.test(-d)?\.ts$/.test(path));
        if (found.length === 0)
          throw new Error(`bench/mutate/targets.ts names ${single}, which does not exist.`);
        return found.toSorted().map((path) => ({ area, path }));
      }),
    ),
  );
}

/** One pattern for each name between braces, so that a missing file is noticed. */
function expand(pattern: string): string[] {
  const braces = /^(.*)\{(.*)\}(.*)$/.exec(pattern);
  if (braces === null) return [pattern];
  const [, before = '', names = '', after = ''] = braces;
  return names.split(',').map((name) => `${before}${name}${after}`);
}
