import { takeSteps } from '../../base/steps.ts';
import type { OwnFileBreach } from '../../policy/own-files/judge-own-files.ts';
import { describeOwnFile } from '../../policy/own-files/own-file.ts';
import { sandboxMarkOf } from '../../tool/sandboxed-tool.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import { clean } from '../input/clean.ts';
import type { Gate, Stop } from '../state/gate.ts';

/**
 * Does the call stay away from the runtime's own files? No rule and no person can allow what this gate
 * denies.
 */
export const ownFilesGate: Gate = {
  name: 'own_files',
  check(live) {
    const { ownFiles } = live.engine;
    // The executor may know fewer files than this runtime, or run the call under the rules of another name.
    if (sandboxMarkOf(live.tool)?.protects(ownFiles.list(), live.tool.name) === true) return undefined;
    const steps = ownFiles.judge()(live.tool, live.judged);
    if (steps === undefined) return undefined;
    const breach = takeSteps(steps);
    return isPromiseLike(breach) ? breach.then((found) => stopFor(live, found)) : stopFor(live, breach);
  },
};

const stopFor = (live: AcceptedCall, breach: OwnFileBreach | undefined): Stop | undefined =>
  breach === undefined
    ? undefined
    : {
        type: 'deny',
        reason: 'contract',
        code: 'policy.protected',
        details: describe(live, breach),
        by: { type: 'gate', name: 'own_files' },
      };

function describe(live: AcceptedCall, breach: OwnFileBreach): string {
  switch (breach.type) {
    case 'too_many_paths':
      return 'The call names more paths than can be checked. Name fewer of them in one call.';
    case 'inside':
    case 'contains': {
      const { type, file } = breach;
      const named = JSON.stringify(clean(live, breach.named.slice(0, 300)));
      const allowed =
        file.access === 'sealed'
          ? 'Calls may neither read nor change it.'
          : 'Calls may read it but not change it.';
      return type === 'inside'
        ? `${named} is protected: it belongs to ${describeOwnFile(file)}. ${allowed}`
        : `The folder ${named} holds ${describeOwnFile(file)}. ${allowed} Name the files or folders you need instead.`;
    }
    default:
      return breach satisfies never;
  }
}
