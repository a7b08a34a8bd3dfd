import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, test, vi } from 'vitest'
import * as node from './bytes.ts'
import * as web from './bytes.worker.ts'
import { digestOfBytes } from './sha256.ts'

const TEXTS = ['', 'a', 'Grüße, 世界 🎉', '\ufeffwith a mark', 'x'.repeat(20_000), 'unpaired \ud800']
const BYTES = [0, 1, 2, 3, 55, 56, 63, 64, 65, 119, 120, 1000, 20_000].map((length) => randomBytes(length))

describe('without Node, bytes are the same', () => {
  test.each(TEXTS)('as those of the text %.10j', (text) => {
    expect(Buffer.from(web.utf8Of(text))).toEqual(node.utf8Of(text))
    expect(web.utf8Length(text)).toBe(node.utf8Length(text))
    expect(web.utf8Text(node.utf8Of(text))).toBe(node.utf8Text(node.utf8Of(text)))
  })

  test('in base64, and back', () => {
    for (const bytes of BYTES) {
      expect(web.toBase64(bytes, 'base64')).toBe(node.toBase64(bytes, 'base64'))
      const text = web.toBase64(bytes, 'base64url')
      expect(text).toBe(node.toBase64(bytes, 'base64url'))
      expect(Buffer.from(web.fromBase64url(text))).toEqual(bytes)
    }
  })

  test.each(['abc=', 'a', 'ab.c', 'YWJ', 'é'])('or fewer, when the text %j is no base64url', (text) => {
    expect(web.toBase64(web.fromBase64url(text), 'base64url')).not.toBe(text)
  })

  test('joined from chunks', () => {
    expect(Buffer.from(web.joined(BYTES))).toEqual(node.joined(BYTES))
  })

  test('random ones are not those of the time before', () => {
    expect(web.randomBytes(32)).not.toEqual(web.randomBytes(32))
    expect(web.randomUuid()).toMatch(/^[\da-f]{8}-/)
  })

  test('bytes that are not UTF-8 are found', () => {
    const bad = Uint8Array.of(0x61, 0xff)
    for (const { isUtf8, utf8Text } of [node, web]) {
      expect([isUtf8(bad), utf8Text(bad), isUtf8(node.utf8Of('ü'))]).toEqual([false, 'a\ufffd', true])
    }
  })
})

describe('without node:crypto, digests are the same', () => {
  afterEach(() => {
    vi.unstubAllGlobals()
    vi.resetModules()
  })

  test('of bytes and of texts', async () => {
    vi.stubGlobal('process', undefined)
    vi.resetModules()
    const { sha256 } = await import('./bytes.worker.ts')
    for (const data of [...BYTES, ...TEXTS]) {
      expect(sha256(data, 'hex')).toBe(node.sha256(data, 'hex'))
      expect(sha256(data, 'base64url')).toBe(node.sha256(data, 'base64url'))
    }
  })

  test('of every length around the blocks', () => {
    for (let length = 0; length < 260; length++) {
      const bytes = randomBytes(length)
      expect(Buffer.from(digestOfBytes(bytes)).toString('hex')).toBe(node.sha256(bytes, 'hex'))
    }
  })
})
