import { nearestNames } from '../../tool/nearest.ts';
import type { Gate } from './gate.ts';

/** Is there such a tool? */
export const resolveGate: Gate = {
  name: 'resolve',
  check({ tool, request, engine }) {
    if (tool !== undefined) return undefined;
    const names = [...engine.tools.keys()];
    const known = nearestNames(request.name, names);
    const listed = known.length > 0 ? known : names.slice(0, 3);
    const more = names.length - listed.length;
    const others = more > 0 ? `, and ${more} more` : '';
    return {
      type: 'fail',
      code: 'tool.unknown',
      error: `No tool named "${shorten(request.name)}". Known tools: ${listed.join(', ')}${others}.`,
    };
  },
};

const shorten = (name: string): string => (name.length <= 80 ? name : `${name.slice(0, 80)}…`);
