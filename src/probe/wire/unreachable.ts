import { failureReason } from '../../client/index.ts'
import type { Heard } from './reply.ts'

/** Somebody was there, and is no more. */
const CUT: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])

/** Why there is no answer over HTTP. */
export function goneBy(error: unknown): Heard {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code.startsWith('HPE_')) return { kind: 'gone', why: 'what is there does not speak HTTP', wasThere: true }
  const why = failureReason(error).why?.replace(/\.$/, '')
  return { kind: 'gone', why: why ?? 'the connection broke off', wasThere: CUT.has(code) || why === undefined }
}
