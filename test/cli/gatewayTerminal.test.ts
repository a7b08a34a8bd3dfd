/** `pannier gateway` at a real terminal: one table that fits, with what needs attention before it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { modernServer, sessionServer, stdioEntry } from '../gateway/fixtures/gateways.ts'
import { openPty } from './fixtures/pty.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-gateway-terminal-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each([80, 120])('the table fits %i columns, comes once, and has no JSON around it', async (cols) => {
  const servers = {
    'customer-relations': { url: (await modernServer()).url },
    sessions: { url: (await sessionServer()).url },
    shared: stdioEntry({ state: 'stateless' }),
    kept: stdioEntry(),
    gone: { url: 'http://127.0.0.1:9/' },
    lost: { command: 'none', env: { KEY: '${ABSENT_KEY_OF_THE_LOST_SERVER}' } },
  }
  const file = join(folder, `mcp${cols}.json`)
  writeFileSync(file, JSON.stringify({ mcpServers: servers, gateway: { admin: { port: 0 } } }))
  const args = ['gateway', file, '--port', '0']
  const pty = openPty({ program: 'src/cli/main.ts', args, out: join(folder, `out${cols}`), cols })
  try {
    await pty.see('Serving ')
    await pty.see('/mcp: ')
    const shown = pty.shown().replaceAll('\r', '')
    expect(shown).not.toMatch(/^\{/m)
    const table = shown.slice(shown.indexOf('NEEDS ATTENTION'))
    expect(table.match(/^SERVER /gm)).toHaveLength(1)
    const blocks = table.split('\n\n').map((block) => block.split('\n'))
    expect(blocks[0]?.slice(0, 3)).toEqual([
      'NEEDS ATTENTION',
      expect.stringMatching(/^gone {2}not there: /),
      expect.stringMatching(/^lost {2}left out: /),
    ])
    expect(blocks[1]?.map((line) => line.split(' ', 1)[0]).filter(Boolean)).toEqual([
      'SERVER',
      ...Object.keys(servers).slice(0, 4),
    ])
    expect(blocks[2]?.findIndex((line) => line.startsWith('/mcp: '))).toBeLessThanOrEqual(4)
    expect(
      blocks
        .slice(0, 2)
        .flat()
        .filter((line) => line.length > cols),
    ).toEqual([])
  } finally {
    pty.kill()
  }
})
