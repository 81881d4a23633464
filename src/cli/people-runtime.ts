import type { Ledger } from '../ledger/ledger.ts';
import type { Runtime } from '../runtime/create-runtime.ts';
import { createRuntimeOn } from '../runtime/create-runtime.ts';

/**
 * A runtime without tools, for what people do at a terminal. Most of that needs no seal key, which their machine may
 * not have.
 */
export const createPeopleRuntime = (ledger: Ledger): Runtime =>
  createRuntimeOn({ tools: [], ledger }, { sealKey: 'on_first_use' });
