/** A gateway that is starting: nobody is answered before it serves. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startPannier } from '../cli/fixtures/program.ts'
import { newPort } from '../matrix/fleet/ports.ts'
import { modernServer } from './fixtures/gateways.ts'

const CLIENTS = 4

/** What is answered at an address, from when it refuses until it serves; each with its status and its text. */
async function answersUntilServed(url: string): Promise<readonly string[]> {
  const answers: string[] = []
  const ask = async (): Promise<void> => {
    while (answers.at(-1)?.startsWith('405') !== true) {
      const reply = await fetch(url, { method: 'PUT', headers: { connection: 'close' } }).catch(() => undefined)
      if (reply !== undefined) answers.push(`${reply.status} ${await reply.text()}`)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, ask))
  return answers
}

test.each([[], ['--workers', '2']])('a gateway answers nobody before it serves %s', async (...args) => {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-starting-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'mcp.json')
  const { url: ours } = await modernServer()
  writeFileSync(file, JSON.stringify({ mcpServers: { ours: { url: ours } }, gateway: { admin: false } }))
  const port = await newPort()
  const { child } = startPannier(['gateway', file, '--port', String(port), ...args], { input: null })
  onTestFinished(() => void child.kill('SIGKILL'))
  const answers = await answersUntilServed(`http://127.0.0.1:${port}/mcp`)
  expect(new Set(answers)).toEqual(new Set(['405 ']))
})
