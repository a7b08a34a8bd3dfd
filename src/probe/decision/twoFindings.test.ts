import { expect, test } from 'vitest'
import { guessFromMetadata } from '../methods/metadata.ts'
import type { ProbeReply } from '../wire/reply.ts'
import type { Findings } from './findings.ts'
import { twoFindings } from './twoFindings.ts'

const nothing: Findings = { transport: 'http', metadata: guessFromMetadata({ type: 'http' }) }
const listed = (...tools: object[]): ProbeReply => ({ kind: 'result', result: { tools } })

test('where no list of tools was read, it is not said that there are none', () => {
  expect(twoFindings(nothing).process).toMatchObject({
    state: 'UNKNOWN',
    because: ['Its tools were not read by the probe, so nothing tells whether its process keeps something.'],
  })
})

test('where the list of tools was empty, that is said', () => {
  expect(twoFindings({ ...nothing, bareList: listed() }).process.because).toEqual(['It lists no tools.'])
})
