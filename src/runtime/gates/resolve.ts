import { describeUnknownName } from '../../base/nearest.ts';
import type { EntryGate } from '../state/gate.ts';

/** Does the tool exist? */
export const resolveGate: EntryGate = {
  name: 'resolve',
  check({ tool, request, engine }) {
    if (tool !== undefined) return undefined;
    const error = describeUnknownName('tool', request.name, [...engine.tools.keys()]);
    return { type: 'fail', code: 'tool.unknown', error };
  },
};
