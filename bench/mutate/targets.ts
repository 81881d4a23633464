/** The source files that are mutated, by the part of the product whose promises they keep. */
import { globSync } from 'node:fs';
import { sep } from 'node:path';

const areas = {
  decide: ['src/call/decide.ts'],
  evolve: ['src/call/evolve.ts'],
  pipeline: ['src/runtime/{run-call,recall}.ts'],
  execute: ['src/runtime/{intent,attempt,retry-attempt,judge,judgement,call-journal,budget}.ts'],
  settle: ['src/runtime/{settle,failed-writes}.ts'],
  recover: ['src/runtime/{recover,reconcile,take-over,runtime-state}.ts'],
  hold: [
    'src/runtime/{hold,until-decided,keep-decision,decide-confirmation,recorded-input,grants}.ts',
    'src/call/grant.ts',
  ],
  gates: ['src/runtime/{gates,gate-checks,preview,active-call}.ts'],
  writer: ['src/store/sqlite/{writer,order-writer,writer-client,appender,write-order}.ts'],
  sessions: ['src/store/sqlite/{sessions,sqlite-ledger,owner-lock}.ts'],
  chain: ['src/ledger/{chain,verify}.ts'],
  spill: ['src/store/files/spill-file.ts'],
  ruling: [
    'src/policy/language/{ruling,session-limits}.ts',
    'src/policy/judge/{compile-policy,fire-rule}.ts',
  ],
  'hand-off': ['src/call/call.ts', 'src/runtime/{claim-handoff,report-handoff,await-report}.ts'],
  'http auth': ['src/http/{access,actor,token-file,rate-limit}.ts', 'src/runtime/{rights,tokens}.ts'],
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
