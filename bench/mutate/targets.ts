/** The source files that are mutated, by the part of the product whose promises they keep. */
import { globSync } from 'node:fs';
import { sep } from 'node:path';

const areas = {
  decide: ['packages/quittance/src/call/decide.ts'],
  evolve: ['packages/quittance/src/call/evolve.ts'],
  pipeline: ['packages/quittance/src/runtime/{run-call,recall}.ts'],
  execute: [
    'packages/quittance/src/runtime/{intent,attempt,retry-attempt,judge,judgement,call-journal,budget}.ts',
  ],
  settle: ['packages/quittance/src/runtime/{settle,failed-writes}.ts'],
  recover: ['packages/quittance/src/runtime/{recover,reconcile,take-over,runtime-state}.ts'],
  hold: [
    'packages/quittance/src/runtime/{hold,until-decided,keep-decision,decide-confirmation,recorded-input,grants}.ts',
    'packages/quittance/src/call/grant.ts',
  ],
  gates: ['packages/quittance/src/runtime/{gates,gate-checks,preview,active-call}.ts'],
  writer: ['packages/quittance/src/store/sqlite/{writer,order-writer,writer-client,appender,write-order}.ts'],
  sessions: ['packages/quittance/src/store/sqlite/{sessions,sqlite-ledger,owner-lock}.ts'],
  chain: ['packages/quittance/src/ledger/{chain,verify}.ts'],
  spill: ['packages/quittance/src/store/files/spill-file.ts'],
  ruling: [
    'packages/quittance/src/policy/language/{ruling,session-limits}.ts',
    'packages/quittance/src/policy/judge/{compile-policy,fire-rule}.ts',
  ],
  'hand-off': [
    'packages/quittance/src/call/call.ts',
    'packages/quittance/src/runtime/{claim-handoff,report-handoff,await-report}.ts',
  ],
  'http auth': [
    'packages/server/src/http/{access,actor,token-file,rate-limit}.ts',
    'packages/quittance/src/runtime/{rights,tokens}.ts',
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
