import anthropic from './harnesses/anthropic.ts';
import anyFunction from './harnesses/govern.ts';
import completions from './harnesses/openai-completions.ts';
import responses from './harnesses/openai-responses.ts';
import { behaviorSuite } from './suite/behavior-suite.ts';

behaviorSuite(anthropic);
behaviorSuite(responses);
behaviorSuite(completions);
behaviorSuite(anyFunction);
