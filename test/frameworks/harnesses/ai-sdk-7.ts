import * as sdk from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { aiSdkHarness } from './ai-sdk.ts';
import type { Harness } from '../suite/harness.ts';

// The harness declares the parts of the package that it uses; the types of the two versions differ elsewhere.
const harness: Harness = aiSdkHarness(7, import.meta.url, sdk as never, MockLanguageModelV4 as never);
export default harness;
