/** The room for calls that wait: in this process, and at each server, which has so many sessions, processes and requests. */
import { type Amount, type HeldItem, Room, type RoomLimits } from './room.ts'

/** Of calls that wait, and again of results that are kept. The size is that of arguments, questions, answers and results. */
export interface ParkingLimits extends RoomLimits {
  readonly maxOfCaller: number
  readonly maxCharsOfCaller: number
}

interface WaitingItem extends HeldItem {
  readonly server: string
}

const ONE_MORE: Amount = { calls: 1, chars: 0 }
/** How much room a server has is known there alone. It asks when it has none. */
const NO_ROOM: RoomLimits = { maxCalls: 0, maxChars: 0 }

export class WaitingRoom<T extends WaitingItem> {
  readonly #limits: ParkingLimits
  readonly #here: Room<T>
  readonly #atServer = new Map<string, Room<T>>()

  constructor(limits: ParkingLimits) {
    this.#limits = limits
    this.#here = new Room(limits)
  }

  /** How many calls wait. */
  get calls(): number {
    return this.#here.all.calls
  }

  add(item: T): void {
    const there = this.#atServer.get(item.server) ?? new Room<T>(NO_ROOM)
    this.#atServer.set(item.server, there)
    for (const room of [this.#here, there]) room.add(item)
  }

  /** The size of a call has changed by so much. */
  grow(item: T, chars: number): void {
    for (const room of this.#of(item)) room.grow(item, chars)
  }

  /** Whether a call may be ended for another one. None may at first. */
  setTakeable(item: T, isTakeable: boolean): void {
    for (const room of this.#of(item)) room.setTakeable(item, isTakeable)
  }

  delete(item: T): void {
    for (const room of this.#of(item)) room.delete(item)
    if (this.#atServer.get(item.server)?.all.calls === 0) this.#atServer.delete(item.server)
  }

  /** Whether there is room for so much more of this caller, where need be in the place of calls that are ended so. */
  makeRoom(caller: string, more: Amount, end: (item: T) => void): boolean {
    const { maxOfCaller, maxCharsOfCaller } = this.#limits
    const own = this.#here.of(caller)
    if (own.calls + more.calls > maxOfCaller || own.chars + more.chars > maxCharsOfCaller) return false
    while (!this.#here.fits(more)) {
      const loser = this.#here.nextFor(caller, more)
      if (loser === undefined) return false
      end(loser)
    }
    return true
  }

  /** The call at this server that is ended for one of this caller, if there is any. */
  loserAt(server: string, caller: string): T | undefined {
    return this.#atServer.get(server)?.nextFor(caller, ONE_MORE)
  }

  #of({ server }: T): readonly Room<T>[] {
    const there = this.#atServer.get(server)
    return there === undefined ? [this.#here] : [this.#here, there]
  }
}
