import agUi from './harnesses/ag-ui.ts';
import { behaviourSuite } from './suite/behaviour-suite.ts';

behaviourSuite(agUi);
