/** The clients of the matrix by name. */
import type { Connecting, MatrixClient } from './client.ts'
import { connectOurs } from './ours.ts'
import { connectSdkV1 } from './sdkV1.ts'
import { connectSdkV2 } from './sdkV2.ts'

export const CLIENTS = ['v1', 'v2 in a session', 'v2 stateless', 'ours in a session', 'ours stateless'] as const

export type ClientKind = (typeof CLIENTS)[number]

function isStateless(kind: ClientKind): boolean {
  return kind.endsWith('stateless')
}

export function connectClient(kind: ClientKind, connecting: Connecting): Promise<MatrixClient> {
  switch (kind) {
    case 'v1':
      return connectSdkV1(connecting)
    case 'v2 in a session':
    case 'v2 stateless':
      return connectSdkV2(connecting, isStateless(kind))
    case 'ours in a session':
    case 'ours stateless':
      return connectOurs(connecting, isStateless(kind))
  }
}
