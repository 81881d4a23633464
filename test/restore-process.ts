/** Loaded before each test file of a project whose files share a process: see process-state.ts. */
import { restoreProcess } from './process-state.ts';

restoreProcess();
