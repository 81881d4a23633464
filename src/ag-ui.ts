export { createAgUi } from './adapters/ag-ui/create-ag-ui.ts';
export type { AgUi, AgUiPerson, AgUiRun, AgUiRunOptions, AgUiTaken } from './adapters/ag-ui/create-ag-ui.ts';
export type { AgUiEvent } from './adapters/ag-ui/event.ts';
export type { AgUiInterrupt } from './adapters/ag-ui/interrupt.ts';
