import * as sdk from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { aiSdkHarness } from './ai-sdk.ts';
import type { Harness } from '../suite/harness.ts';

// The harness names what it uses of the package; the types of the two versions differ elsewhere.
const harness: Harness = aiSdkHarness(7, import.meta.url, sdk as never, MockLanguageModelV4 as never);
export default harness;
