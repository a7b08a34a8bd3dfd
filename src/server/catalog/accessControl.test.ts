import { expect, test } from 'vitest'
import type { LoggerSlot } from '../logger.ts'
import { AccessControl } from './accessControl.ts'
import type { Registry } from './registry.ts'

test.each([
  [0, []],
  [1, ['(e0)']],
  [5, ['(e0, e1, e2, e3, e4)']],
  [6, ['(e0, e1, e2, e3, e4 and others)']],
])('of %i entries that need scopes, at most five are named in a warning, once', (count, named) => {
  const warned: string[] = []
  const logger = { warnOfSetup: (_: string, sentence: string) => void warned.push(sentence) } as unknown as LoggerSlot
  const registry = { scoped: Array.from({ length: count }, (_, n) => `e${n}`) } as unknown as Registry
  const access = new AccessControl(registry, undefined)
  access.warnOfScopes(logger, 'do this.')
  access.warnOfScopes(logger, 'do this.')
  expect(warned.map((sentence) => /\(.*\)/.exec(sentence)?.[0])).toEqual(named)
})
