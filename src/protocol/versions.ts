import { ProtocolError } from './errors.ts'

/** The stateless revision: every request carries its own envelope. */
export const MODERN_VERSION = '2026-07-28'

/** The session revisions, newest first. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const

export type Era = 'modern' | 'legacy'

/** The version of a session request that names none (2025-11-25, "Protocol Version Header"). */
export const UNNAMED_LEGACY_VERSION = '2025-03-26'

const legacy: ReadonlySet<string> = new Set(LEGACY_VERSIONS)

export function isLegacyVersion(version: string): boolean {
  return legacy.has(version)
}

/** The version for the response to `initialize`: the requested one if it is supported, else the newest. */
export function negotiateLegacy(requested: string): string {
  return legacy.has(requested) ? requested : LEGACY_VERSIONS[0]
}

/** The error for a version that is not served. It names the served versions, with or without the session revisions. */
export function unsupportedVersion(requested: string, servesLegacy: boolean): ProtocolError {
  const supported = servesLegacy ? [MODERN_VERSION, ...LEGACY_VERSIONS] : [MODERN_VERSION]
  return new ProtocolError('VERSION_UNSUPPORTED', `This server speaks ${supported.join(', ')}.`, {
    supported,
    requested,
  })
}
