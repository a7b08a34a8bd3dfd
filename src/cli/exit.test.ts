import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { EXIT, EXIT_HELP } from './exit.ts'

const guide = readFileSync(new URL('../../docs/guides/program.md', import.meta.url), 'utf8')

test.each(Object.entries(EXIT))('%s, %i, is in the help and in the guide', (_, code) => {
  expect(EXIT_HELP).toMatch(new RegExp(`^  ${code} `, 'm'))
  expect(guide).toMatch(new RegExp(`^\\| (\\d+, )?${code}(, \\d+)? \\|`, 'm'))
})
