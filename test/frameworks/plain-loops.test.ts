import anthropic from './harnesses/anthropic.ts';
import anyFunction from './harnesses/govern.ts';
import completions from './harnesses/openai-completions.ts';
import responses from './harnesses/openai-responses.ts';
import { behaviourSuite } from './suite/behaviour-suite.ts';

behaviourSuite(anthropic);
behaviourSuite(responses);
behaviourSuite(completions);
behaviourSuite(anyFunction);
