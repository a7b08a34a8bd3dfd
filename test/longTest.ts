/** A test that only `npm run test:long` runs: the same promise as a test beside it, in another setting that takes long. */
import { test } from 'vitest'
import { isLong } from './amount.ts'

const left = Object.assign((): void => {}, { each: () => (): void => {} }) as unknown as typeof test

export const longTest: typeof test = isLong ? test : left
