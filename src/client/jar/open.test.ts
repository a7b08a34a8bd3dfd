import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type JarOwner, type JarStore, memoryJar } from '../../state/jar/index.ts'
import type { Notice } from '../notice.ts'
import { openJar } from './open.ts'

const address = { url: 'https://example.com/mcp' }

/** A store that takes a moment to end a context. */
function slowStore() {
  const log: string[] = []
  const endContext = vi.fn(async (owner: JarOwner): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve))
    log.push(`ended ${owner.server} of ${owner.principal}`)
  })
  const store: JarStore = { ...memoryJar(), endContext }
  return { store, endContext, log }
}

describe('a jar', () => {
  test('that made its context has ended it when it is closed', async () => {
    const { store, log } = slowStore()
    await openJar(address, { jar: store }).close()
    await openJar(address, { jar: store, principal: 'ann' }).close()
    expect(log).toEqual(['ended example.com of default', 'ended example.com of ann'])
  })

  test('makes another context each time', async () => {
    const { store, endContext } = slowStore()
    await openJar(address, { jar: store }).close()
    await openJar(address, { jar: store }).close()
    const contexts = endContext.mock.calls.map(([{ context }]) => context)
    expect(new Set(contexts).size).toBe(2)
  })

  test('leaves a context that it was given as it is', async () => {
    const { store, endContext } = slowStore()
    await openJar(address, { jar: store, context: 'shared' }).close()
    expect(endContext).not.toHaveBeenCalled()
  })

  test('closes whatever its store does', async () => {
    const { store, endContext } = slowStore()
    endContext.mockRejectedValueOnce(new Error('away'))
    await openJar(address, { jar: store }).close()
    endContext.mockImplementationOnce(() => {
      throw new Error('broken')
    })
    await openJar(address, { jar: store }).close()
    expect(endContext).toHaveBeenCalledTimes(2)
  })

  test('in a file is closed with the client, and one that cannot be opened says which', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pannier-open-jar-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    await openJar(address, { jar: join(folder, 'jar.sqlite') }).close()
    expect(() => openJar(address, { jar: folder })).toThrow(expect.objectContaining({ code: 'JAR_UNAVAILABLE' }))
    await openJar(address, {}).close()
  })

  test('is none where nobody wants one, or where the server has no name that can be kept; then that is said', async () => {
    const notices: Notice[] = []
    const options = { onNotice: (notice: Notice) => void notices.push(notice) }
    const transport = {} as never
    const none = openJar(address, { ...options, jar: false })
    expect([none.layer(transport), notices]).toEqual([transport, []])
    const local = { url: 'http://localhost:3000/mcp' }
    expect(openJar(local, options).layer(transport)).toBe(transport)
    expect(notices).toEqual([{ kind: 'unkept', reason: expect.stringContaining('localhost') }])
    const allowed = openJar(local, { ...options, allowLocal: true })
    expect(allowed).not.toBe(none)
    expect(notices).toHaveLength(1)
    await allowed.close()
  })
})
