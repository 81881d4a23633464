import * as sdk from 'ai6';
import { MockLanguageModelV3 } from 'ai6/test';
import { aiSdkHarness } from './ai-sdk.ts';
import type { Harness } from '../suite/harness.ts';

// The harness declares the parts of the package that it uses; the types of the two versions differ elsewhere.
const harness: Harness = aiSdkHarness(6, import.meta.url, sdk as never, MockLanguageModelV3 as never);
export default harness;
