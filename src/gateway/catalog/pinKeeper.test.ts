import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { acceptOffered, offeredTools, pinFile } from './index.ts'
import { PinKeeper } from './pinKeeper.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-pin-keeper-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const once = [{ name: 'read', description: 'Once.' }]
const now = [{ name: 'read', description: 'Now.' }]

function keeper(path?: string) {
  const told: unknown[] = []
  const failures: unknown[] = []
  const kept = new PinKeeper({
    ...(path !== undefined && { file: pinFile(path) }),
    onChanged: (server, changed) => void told.push({ server, ...changed }),
    onFailed: (error) => void failures.push(error),
  })
  return { kept, told, failures }
}

test('what one process pinned, the next one holds servers to, until it is accepted', async () => {
  const path = join(folder, 'a.pins.json')
  const first = keeper(path)
  await first.kept.load()
  expect(first.kept.withheld('files', once, 'pin')).toEqual(new Set())
  await first.kept.stored()

  const second = keeper(path)
  await second.kept.load()
  for (let check = 0; check < 3; check++) expect(second.kept.withheld('files', now, 'pin')).toEqual(new Set(['read']))
  expect(second.told).toEqual([{ server: 'files', tool: 'read', change: 'The description changed.', withheld: true }])
  await second.kept.stored()

  await pinFile(path).update((pins) => acceptOffered(pins, offeredTools(pins)))
  expect(second.kept.withheld('files', now, 'pin')).toEqual(new Set(['read']))
  await second.kept.load()
  expect(second.kept.withheld('files', now, 'pin')).toEqual(new Set())
  expect([...first.failures, ...second.failures]).toEqual([])
})

test('what was accepted meanwhile is not undone by what another process writes', async () => {
  const path = join(folder, 'b.pins.json')
  const { kept } = keeper(path)
  await kept.load()
  kept.withheld('files', once, 'pin')
  kept.withheld('files', now, 'pin')
  await kept.stored()
  await pinFile(path).update((pins) => acceptOffered(pins, offeredTools(pins)))
  kept.withheld('mail', once, 'pin')
  await kept.load()
  expect(kept.withheld('files', now, 'pin')).toEqual(new Set())
  expect([...(await pinFile(path).load()).keys()]).toEqual(['files', 'mail'])
})

test('with a file that is not read yet, or cannot be, nothing that must be pinned is served', async () => {
  const path = join(folder, 'c.pins.json')
  writeFileSync(path, 'damaged')
  const { kept, failures } = keeper(path)
  expect(kept.withheld('files', once, 'pin')).toEqual(new Set(['read']))
  await kept.load()
  expect(failures).toMatchObject([{ code: 'CONFIG_INVALID' }])
  expect(kept.withheld('files', once, 'pin')).toEqual(new Set(['read']))
  expect(kept.withheld('files', once, 'warn')).toEqual(new Set())
  writeFileSync(path, '{ "version": 1, "servers": {} }')
  await kept.load()
  expect(kept.withheld('files', once, 'pin')).toEqual(new Set())
})

test('a file that cannot be written is told, and what is known stays known', async () => {
  const { kept, failures, told } = keeper(join(folder, 'none', 'd.pins.json'))
  await kept.load()
  kept.withheld('files', once, 'pin')
  await kept.stored()
  expect(failures).toMatchObject([{ code: 'CONFIG_UNREADABLE' }])
  expect(kept.withheld('files', now, 'pin')).toEqual(new Set(['read']))
  await kept.stored()
  expect(told).toHaveLength(1)
})

test('without a file, and with the policy warn, this process remembers', () => {
  const { kept, told } = keeper()
  kept.withheld('a', once, 'warn')
  kept.withheld('b', once, 'pin')
  expect([kept.withheld('a', now, 'warn'), kept.withheld('b', now, 'pin')]).toEqual([new Set(), new Set(['read'])])
  expect(told).toMatchObject([
    { server: 'a', withheld: false },
    { server: 'b', withheld: true },
  ])
})
