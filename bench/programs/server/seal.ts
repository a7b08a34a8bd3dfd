/** Seals and opens states of several sizes; the results are microseconds for one operation, measured in batches. */
import { createKeyring, createSealer, newKey } from 'pannier/state'
import { serveRequests } from '../ipc.ts'

export interface SealTiming {
  bytes: number
  tokenLength: number
  sealMicros: number[]
  openMicros: number[]
}

const binding = { principal: 'ann' }
const sealer = createSealer({ keyring: createKeyring(newKey()), audience: 'bench' })

/** Words, as in answers of people. */
function proseOf(bytes: number): string {
  const words = ['resolved', 'duplicate', 'of', 'bug', 'by', 'ann', 'because', 'the', 'gateway', 'was', 'restarted']
  let seed = 42
  let text = ''
  while (text.length < bytes) {
    seed = (seed * 1103515245 + 12345) % 2147483648
    text += `${words[(seed >> 8) % words.length]} ${seed % 1000} `
  }
  return text.slice(0, bytes)
}

function timeSize(detail: { bytes: number; ms: number }): SealTiming {
  const body = { answer: proseOf(detail.bytes - '{"answer":""}'.length) }
  const seal = (): string => sealer.seal('request', binding, { body, id: 'bench-1' })
  const token = seal()
  const open = (): unknown => sealer.open('request', binding, token)
  if (!JSON.stringify(open()).includes(body.answer)) throw new Error('A seal does not give back its body.')
  for (const operation of [seal, open]) for (let batch = 0; batch < 20; batch++) batchMicros(operation)
  const timing: SealTiming = { bytes: detail.bytes, tokenLength: token.length, sealMicros: [], openMicros: [] }
  const end = performance.now() + detail.ms
  while (performance.now() < end) {
    timing.sealMicros.push(batchMicros(seal))
    timing.openMicros.push(batchMicros(open))
  }
  return timing
}

function batchMicros(operation: () => unknown): number {
  const batch = 100
  const started = performance.now()
  for (let turn = 0; turn < batch; turn++) operation()
  return ((performance.now() - started) * 1000) / batch
}

serveRequests({ time: timeSize })
