/**
 * Works on documents that callers typed. `ContractThreads` ends its thread when the work takes too long. That is safe here
 * only: nothing in this thread may open a database.
 */
import type { BeginTask } from 'quittance/internal/threads/work-thread';
import type { ContractOrder } from './contract-work.ts';
import { workOnContracts } from './contract-work.ts';

export const begin: BeginTask<undefined, ContractOrder, string> = () => ({ work: workOnContracts });
