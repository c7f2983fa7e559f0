/** The brokers that a producer may write to. */
export const MessageBrokerType = Object.freeze({ KAFKA: 'KAFKA', RABBITMQ: 'RABBITMQ' } as const);

export type MessageBrokerType = (typeof MessageBrokerType)[keyof typeof MessageBrokerType];
