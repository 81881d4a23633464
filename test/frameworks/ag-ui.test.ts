import agUi from './harnesses/ag-ui.ts';
import { behaviorSuite } from './suite/behavior-suite.ts';

behaviorSuite(agUi);
