export { createAgUi } from './create-ag-ui.ts';
export type { AgUi, AgUiPerson, AgUiRun, AgUiRunOptions, AgUiTaken } from './create-ag-ui.ts';
export type { AgUiEvent } from './event.ts';
export type { AgUiInterrupt } from './interrupt.ts';
