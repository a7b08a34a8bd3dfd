/** The cluster's timeouts, intervals and limits. */

/** Lifetime of a message. The clocks of two instances may differ by half a minute. */
export const MESSAGE_TTL_SECONDS = 40
/** Timeout for the head of a reply, for each attempt. */
export const REPLY_WITHIN_MS = 2500
export const MAX_ATTEMPTS = 2
/** The same for an instance that was gone a moment ago: if it is back, it answers quickly. */
export const LOST_REPLY_WITHIN_MS = 500

/** The interval of the ring heartbeat. */
export const HEARTBEAT_MS = 1000
export const MAX_MEMBERS = 256
/** Maximum wait for an instance that only a token names. */
export const NAMED_WITHIN_MS = 300
/** Time during which an instance that is gone is not asked again, however many old tokens name it. */
export const LOST_FOR_MS = 60_000

/** Age of events that are sent to a new member. */
export const RECENT_EVENTS_MS = 5000
/** Poll interval at which a stopping instance asks for urgent events, since it may not be reachable any more. */
export const FETCH_EVENTS_EVERY_MS = 500

/**
 * Polling of the address of an instance that is gone: often at first, as a restarted process is there within seconds,
 * then less often.
 */
export const OFTEN_MS = 200
export const OFTEN_LOOKS = 50
export const SELDOM_MS = 1000
export const MAX_LOOKS = 100
/** A configured address is polled until an instance is there. */
export const RARELY_MS = 10_000
export const MAX_ADDRESSES = 64
/** Maximum wait for the configured addresses at the start. */
export const SOUGHT_WITHIN_MS = 1000

/** Number of messages that check the instance's own address: behind a balancer only some would come back. */
export const ADDRESS_CHECKS = 3
export const ADDRESS_CHECK_EVERY_MS = 1000
export const MAX_ADDRESS_CHECKS = 60

/** Maximum time for a hand-off over all instances, within the time that a platform gives a process to end. */
export const HANDED_OFF_WITHIN_MS = 10_000
/** Maximum wait for an instance to hand off to, if there was one before. */
export const MET_WITHIN_MS = 3000
export const LOOK_AGAIN_MS = 100
/** Wait of the receiver of a hand-off before it checks whether the sender is still connected. */
export const LOOK_TWICE_MS = 20
/** Turns of the event loop after which a connection counts as closed if the other side has closed it. */
export const TURNS_TO_CLOSE = 5

/** Maximum search for the owner of a thing: an instance that has just started may not have met the others yet. */
export const FOUND_WITHIN_MS = 3000
export const ASK_EVERY_MS = 200
/** Maximum wait for an owner's reply among instances asked by address. */
export const OWNER_WITHIN_MS = 1500
export const STOPPING_WITHIN_MS = 1000
export const LEFT_WITHIN_MS = 3000

/** Life of a claim beyond the state that it guards, which may open a second longer where clocks differ. */
export const CLAIM_LONGER_SECONDS = 60
/** Maximum time between a claim and its signature, in which its owner is unknown. */
export const SIGNED_WITHIN_MS = 1000
export const SIGNED_LOOK_MS = 20
/** Number of claims in one message of a keeper that stops. */
export const CLAIMS_EACH = 1000
