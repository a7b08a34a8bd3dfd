/** What a script is told of its answers: it reads no question, so it would not learn why one was refused or declined. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'pannier/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { type Given, ProgramHost, type Ran } from './fixtures/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-scripts-'))
const host = new ProgramHost()
const server = createServer({ name: 'hall', version: '1', keys: KEYS, logger: quiet })
let url: string
let rounds = 0

// The client cannot know this rule.
const chairs = z.number().refine((count) => count <= 12, 'We have twelve chairs.')
const guests = z.object({ guests: chairs.default(40) })
const named = z.object({ name: z.string(), city: z.string(), seats: z.number().default(2) })

server.tool('book', { description: 'Asks for a number.' }, async (_, ctx) => {
  rounds++
  const answer = await ctx.ask('guests', { message: 'How many?', schema: guests })
  return `For ${answer.guests}.`
})
server.tool('sign', { description: 'Asks for a name.' }, async (_, ctx) => {
  const { name } = await ctx.ask('who', { message: 'Who?', schema: named })
  return `By ${name}.`
})
server.tool('pay', { description: 'Sends to a page.' }, async (_, ctx) => {
  await ctx.visit('bill', 'https://pay.example/1', 'Please pay.')
  return 'Paid.'
})

beforeAll(async () => {
  ;({ url } = await server.listen({ drainOnTerm: false }))
})
afterAll(async () => {
  host.close()
  rmSync(folder, { recursive: true, force: true })
  await server.drain({ deadlineMs: 0 })
})

const run = (args: readonly string[], given: Given = {}): Promise<Ran> =>
  host.run(args, { ...given, env: { XDG_DATA_HOME: folder } })

function answersFile(answers: object): string {
  const file = join(folder, 'answers.json')
  writeFileSync(file, JSON.stringify(answers))
  return file
}

describe.each(['stateless', 'session'])('in the era %s', (era) => {
  test.each([[], ['--output', 'json']])(
    'an answer that the server refuses ends the call with its reason %s',
    async (...output) => {
      const file = answersFile({ '*': { guests: 13 } })
      rounds = 0
      const ran = await run(['call', url, 'book', '--era', era, '--answers', file, ...output])
      expect(ran.stderr).toMatch(/The server did not accept the answer.*: guests: We have twelve chairs\.\n/)
      expect(ran.stdout).toBe('')
      expect(ran.status).not.toBe(0)
      expect(rounds).toBeLessThan(4)
    },
  )

  test('so do defaults that the server refuses', async () => {
    const ran = await run(['call', url, 'book', '--era', era, '--yes'])
    expect(ran.stderr).toContain('guests: We have twelve chairs.')
    expect(ran.status).not.toBe(0)
  })

  test('--yes says what it declines, and why', async () => {
    const form = await run(['call', url, 'sign', '--era', era, '--yes'])
    expect(form.status).toBe(5)
    expect(form.stderr).toMatch(
      /^note: --yes declines (the question "who"|a question): name, city have no default values\. Give an answer with --answers\.$/m,
    )
    const page = await run(['call', url, 'pay', '--era', era, '--yes'])
    expect(page.status).toBe(5)
    expect(page.stderr).toMatch(
      /^note: --yes declines (the question "bill"|a question): it is a page that a person has to visit\./m,
    )
  })
})
