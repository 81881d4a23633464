import type { ForkedHow } from '../call/event.ts';

/** After the fork, tools run live, recordings are played, or nothing runs and the outcome says so. */
export type AfterFork = ForkedHow;
